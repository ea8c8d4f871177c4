/** Makes a function, which old code calls without new, a class below another. */
export function derive(type, parent, methods) {
  Object.setPrototypeOf(type, parent);
  type.prototype = Object.create(parent.prototype, {
    constructor: { value: type, writable: true, configurable: true },
  });
  Object.defineProperties(type.prototype, Object.getOwnPropertyDescriptors(methods));
}

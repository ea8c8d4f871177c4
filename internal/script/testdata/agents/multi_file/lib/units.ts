export enum Unit {
  Celsius = 'C',
  Kelvin = 'K',
}

export const enum Offset {
  Kelvin = 273.15,
}

export class Settings {
  constructor(
    readonly unit: Unit,
    protected readonly options: { digits: number },
  ) {}
  get digits(): number {
    return this.options.digits;
  }
}

export namespace convert {
  const offsets: Record<Unit, number> = { [Unit.Celsius]: Offset.Kelvin, [Unit.Kelvin]: 0 };
  export function show(kelvin: number, settings: Settings): string {
    return `${(kelvin - offsets[settings.unit]).toFixed(settings.digits)} ${settings.unit}`;
  }
}

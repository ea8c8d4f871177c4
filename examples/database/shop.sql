CREATE SCHEMA IF NOT EXISTS shop;

CREATE TABLE shop.products (
  id    integer PRIMARY KEY,
  name  text NOT NULL,
  price numeric(8, 2) NOT NULL
);
CREATE TABLE shop.customers (
  id   integer PRIMARY KEY,
  name text NOT NULL,
  city text NOT NULL
);
CREATE TABLE shop.orders (
  id       integer PRIMARY KEY,
  customer integer NOT NULL REFERENCES shop.customers,
  product  integer NOT NULL REFERENCES shop.products,
  quantity integer NOT NULL,
  ordered  date NOT NULL
);

INSERT INTO shop.products VALUES (1, 'kettle', 39.90), (2, 'lamp', 24.50), (3, 'radio', 59.00);
INSERT INTO shop.customers VALUES (1, 'Ada', 'Oslo'), (2, 'Grace', 'Lisbon'), (3, 'Linus', 'Helsinki');
INSERT INTO shop.orders VALUES
  (1, 1, 1, 1, '2026-03-02'),
  (2, 1, 2, 4, '2026-03-02'),
  (3, 2, 3, 1, '2026-04-11'),
  (4, 3, 2, 2, '2026-05-20'),
  (5, 2, 1, 1, '2026-06-01');

export interface Reading {
  station: string;
  kelvin: number;
}

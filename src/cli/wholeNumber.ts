import { InvalidArgumentError } from 'commander'

/**
 * Reads options and arguments that are whole numbers, such as heights: of 15 digits at most, which a number holds exactly.
 * @returns a parser that throws InvalidArgumentError, which commander shows with the option or argument
 */
export function wholeNumber(min: number, max?: number): (text: string) => number {
  return (text) => {
    const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= (max ?? value)) return value
    throw new InvalidArgumentError(`Give a whole number from ${min}${max === undefined ? '' : ` to ${max}`}.`)
  }
}

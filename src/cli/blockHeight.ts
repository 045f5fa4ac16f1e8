import { InvalidArgumentError } from 'commander'

/** Reads a block height of a command line. @throws InvalidArgumentError, which commander shows with the option */
export function blockHeight(text: string): number {
  const height = Number(text)
  if (!/^[0-9]+$/.test(text) || !Number.isSafeInteger(height))
    throw new InvalidArgumentError('Expected a block height.')
  return height
}

import {
  type Address,
  AddressError,
  BECH32_CONSENSUS,
  BECH32_OPERATOR,
  explainAddressError,
  parseAddress,
  toBech32,
} from '../../primitives/address.ts'
import { invalidArgument } from './queryError.ts'

/** Reads an account's address in a request, in either encoding. @throws QueryError */
export function readAccount(text: string): Address {
  return read(text, 'address')
}

/** Reads a validator's operator address: coinvaloper1… or 0x…. @throws QueryError */
export function readOperator(text: string): Address {
  return read(text, 'validator address', BECH32_OPERATOR)
}

/** Reads a consensus address: coinvalcons1… or 0x…. @throws QueryError */
export function readConsensusAddress(text: string): Address {
  return read(text, 'consensus address', BECH32_CONSENSUS)
}

export function operatorText(operator: Address): string {
  return toBech32(operator, BECH32_OPERATOR)
}

export function consensusText(address: Uint8Array): string {
  return toBech32(address, BECH32_CONSENSUS)
}

function read(text: string, what: string, prefix?: string): Address {
  if (text === '') throw invalidArgument(`empty ${what} string is not allowed`)
  try {
    return parseAddress(text, prefix)
  } catch (error) {
    if (!(error instanceof AddressError)) throw error
    throw invalidArgument(`invalid ${what}: ${explainAddressError(text, error).message}`)
  }
}

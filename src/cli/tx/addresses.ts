import { ConfigError } from '../../config/configError.ts'
import { BECH32_ACCOUNT, BECH32_OPERATOR, parseTypedAddress, toBech32 } from '../../primitives/address.ts'

/**
 * An account as `coin1…`, from either encoding.
 * @throws ConfigError when it is none
 */
export function accountText(text: string): string {
  return toBech32(read(text, BECH32_ACCOUNT))
}

/**
 * A validator's operator as `coinvaloper1…`, from that, `coin1…` or `0x…`.
 * @throws ConfigError when it is none
 */
export function operatorText(text: string): string {
  return toBech32(
    read(text, text.startsWith(`${BECH32_OPERATOR}1`) ? BECH32_OPERATOR : BECH32_ACCOUNT),
    BECH32_OPERATOR,
  )
}

function read(text: string, prefix: string): Uint8Array {
  try {
    return parseTypedAddress(text, prefix)
  } catch (error) {
    throw new ConfigError(`${text} is not an address: ${(error as Error).message}`)
  }
}

import { bech32 } from 'bech32'
import { bytesKey, bytesToHex, hexToBytes } from './bytes.ts'
import { keccak256, sha256 } from './hash.ts'

/** 20 bytes: the last 20 of keccak256(uncompressed public key). `0x…` and `coin1…` are texts of the same bytes. */
export type Address = Uint8Array & { readonly __address?: 'Address' }

export const ZERO_ADDRESS: Address = new Uint8Array(20)

/** Prefixes of the bech32 forms: accounts, validator operators, consensus keys. */
export const BECH32_ACCOUNT = 'coin'
export const BECH32_OPERATOR = 'coinvaloper'
export const BECH32_CONSENSUS = 'coinvalcons'

/**
 * @throws TypeError when `bytes` is not 20 bytes long
 */
export function toAddress(bytes: Uint8Array): Address {
  if (bytes.length !== 20) throw new TypeError(`an address is 20 bytes, not ${bytes.length}`)
  return bytes
}

/** Returns the EIP-55 checksummed form. */
export function toChecksumAddress(address: Address): `0x${string}` {
  const hex = bytesToHex(address).slice(2)
  const digest = keccak256(new TextEncoder().encode(hex))
  let out = '0x'
  for (let i = 0; i < hex.length; i++) {
    const nibble = (digest[i >> 1]! >> (i % 2 === 0 ? 4 : 0)) & 0xf
    out += nibble >= 8 ? hex[i]!.toUpperCase() : hex[i]!
  }
  return out as `0x${string}`
}

/**
 * Texts of the accounts that were encoded last. Several events of a transaction name the same accounts; with one shared string,
 * encoding and hashing are done once.
 */
const accountTexts = new Map<string, string>()
const MAX_ACCOUNT_TEXTS = 4096

/** Returns the bech32 form with `prefix` (by default `coin`, an account). */
export function toBech32(address: Uint8Array, prefix: string = BECH32_ACCOUNT): string {
  if (prefix !== BECH32_ACCOUNT) return bech32.encode(prefix, bech32.toWords(address))
  const key = bytesKey(address)
  let text = accountTexts.get(key)
  if (text === undefined) {
    text = bech32.encode(prefix, bech32.toWords(address))
    if (accountTexts.size === MAX_ACCOUNT_TEXTS) accountTexts.clear()
    accountTexts.set(key, text)
  }
  return text
}

/** The text is not an address; the message says why. */
export class AddressError extends TypeError {}

/**
 * Reads an address in either encoding, `0x` + 40 hex digits or bech32 with `prefix`.
 * @throws AddressError
 */
export function parseAddress(text: string, prefix: string = BECH32_ACCOUNT): Address {
  const address = readAddress(text, prefix)
  if (typeof address === 'string') throw new AddressError(address)
  return address
}

/** Parses like {@link parseAddress}; returns undefined for other texts. For lists, since exceptions are slow. */
export function findAddress(text: string, prefix: string = BECH32_ACCOUNT): Address | undefined {
  const address = readAddress(text, prefix)
  return typeof address === 'string' ? undefined : address
}

/** Reads an address; returns the fault of the text otherwise. */
function readAddress(text: string, prefix: string): Address | string {
  if (/^0x/i.test(text)) {
    return /^0x[0-9a-f]{40}$/i.test(text) ? toAddress(hexToBytes(text)) : 'expected 0x and 40 hex digits'
  }
  // Only ASCII: some other characters, like the Kelvin sign, become ASCII in lower case.
  const decoded = text.length <= MAX_BECH32 && /^[!-~]*$/.test(text) ? bech32.decodeUnsafe(text) : undefined
  if (decoded === undefined) return `expected 0x and 40 hex digits, or a ${prefix}1… address`
  if (decoded.prefix !== prefix) return `expected the prefix ${prefix}, not ${decoded.prefix}`
  const bytes = bech32.fromWordsUnsafe(decoded.words)
  if (bytes === undefined) return 'the characters do not make whole bytes'
  if (bytes.length !== 20) return `an address is 20 bytes, not ${bytes.length}`
  return Uint8Array.from(bytes)
}

/** Characters of a bech32 text (BIP-173). */
const MAX_BECH32 = 90

/** The text has the form of an address, but the checksum in its characters (bech32) or capital letters (EIP-55) does not fit. */
export class AddressChecksumError extends AddressError {}

/**
 * Returns a more exact error than that of `parseAddress`, for a person who typed or copied `text`.
 * Contracts see the text of `parseAddress` in what precompiles return, so that one stays as it is.
 */
export function explainAddressError(text: string, error: AddressError): AddressError {
  return hasWrongBech32Checksum(text)
    ? new AddressChecksumError('a character is wrong: the checksum of bech32 does not fit')
    : error
}

function hasWrongBech32Checksum(text: string): boolean {
  try {
    bech32.decode(text)
    return false
  } catch (error) {
    return error instanceof Error && error.message.startsWith('Invalid checksum')
  }
}

/**
 * Parses like `parseAddress`, for a text that a person typed or copied: hex digits in mixed case
 * must match EIP-55's checksum, as wallets require.
 * @throws AddressError; AddressChecksumError for a wrong checksum
 */
export function parseTypedAddress(text: string, prefix: string = BECH32_ACCOUNT): Address {
  const address = parseExplaining(text, prefix)
  const digits = /^0x(.*)$/i.exec(text)?.[1]
  const isMixed = digits !== undefined && /[a-f]/.test(digits) && /[A-F]/.test(digits)
  if (isMixed && toChecksumAddress(address).slice(2) !== digits) {
    throw new AddressChecksumError('a digit or capital letter is wrong: the checksum of EIP-55 does not fit')
  }
  return address
}

function parseExplaining(text: string, prefix: string): Address {
  try {
    return parseAddress(text, prefix)
  } catch (error) {
    throw error instanceof AddressError ? explainAddressError(text, error) : error
  }
}

/** Address of a module's account: the first 20 bytes of sha256(name), as in the Cosmos SDK. */
export function moduleAddress(name: string): Address {
  return sha256(new TextEncoder().encode(name)).slice(0, 20)
}

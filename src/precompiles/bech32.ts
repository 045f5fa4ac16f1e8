import { bech32 as codec } from 'bech32'
import { address, string } from '../modules/precompileFunctions/abi/types.ts'
import {
  createPrecompile,
  defineFunction,
  lowAddress,
  revertWith,
  type TabledPrecompile,
} from '../modules/precompileFunctions/dispatch.ts'
import {
  type Address,
  BECH32_ACCOUNT,
  BECH32_CONSENSUS,
  BECH32_OPERATOR,
  toAddress,
  toBech32,
} from '../primitives/address.ts'

/** cosmos/evm's price of either function (its default base gas). */
export const BECH32_GAS = 6_000n

/** A bech32 string has at most 90 characters (BIP-173): 51 remain for the prefix, next to the `1`, 20 bytes and the checksum. */
const PREFIX = /^[\x21-\x7e]{1,51}$/
const TEXT = /^[\x21-\x7e]{8,90}$/
const PREFIXES = `${BECH32_ACCOUNT}, ${BECH32_OPERATOR}, ${BECH32_CONSENSUS}`

/** Conversion between the two encodings of addresses, for any prefix. Pure, though its ABI does not call it `view`. */
export const bech32: TabledPrecompile = createPrecompile(lowAddress(0x400), {
  functions: [
    defineFunction({
      name: 'hexToBech32',
      inputs: { addr: address, prefix: string },
      outputs: { bech32Address: string },
      gas: BECH32_GAS,
      mutability: 'nonpayable',
      writes: false,
      run: (_context, { addr, prefix }) => {
        if (prefix.trim() === '') {
          return revertWith(
            `invalid bech32 human readable prefix (HRP). Please provide a either an account, validator or consensus address prefix (eg: ${PREFIXES})`,
          )
        }
        if (!PREFIX.test(prefix)) return revertWith('invalid bech32 human readable prefix (HRP)')
        return { bech32Address: toBech32(addr, prefix) }
      },
    }),
    defineFunction({
      name: 'bech32ToHex',
      inputs: { bech32Address: string },
      outputs: { addr: address },
      gas: BECH32_GAS,
      mutability: 'nonpayable',
      writes: false,
      run: (_context, { bech32Address }) => {
        const addr = decode(bech32Address)
        return addr === undefined ? revertWith(`invalid bech32 address: ${bech32Address}`) : { addr }
      },
    }),
  ],
})

/** Returns the 20 bytes of a bech32 string; undefined for anything else. */
function decode(text: string): Address | undefined {
  if (!TEXT.test(text)) return undefined
  const words = codec.decodeUnsafe(text)?.words
  const bytes = words && codec.fromWordsUnsafe(words)
  return bytes?.length === 20 ? toAddress(Uint8Array.from(bytes)) : undefined
}

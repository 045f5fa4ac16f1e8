import { InvalidArgument } from '../errors.ts'
import type { ParamReader } from '../method.ts'
import { TypeMismatch } from './mismatch.ts'

/** Digits of a QUANTITY, or what geth says is wrong with it (common/hexutil). The caller rules on the empty string. */
function quantityDigits(text: string): { digits: string } | { fault: string } {
  if (!/^0x/i.test(text)) return { fault: 'hex string without 0x prefix' }
  const digits = text.slice(2)
  if (digits === '') return { fault: 'hex string "0x"' }
  if (digits.length > 1 && digits.startsWith('0')) return { fault: 'hex number with leading zero digits' }
  return { digits }
}

/** A reader of QUANTITY of at most `bits` bits; `goType` goes into its errors. */
export function quantity(bits: 64 | 256, goType: string): ParamReader<bigint> {
  return (json) => {
    if (typeof json !== 'string') throw new TypeMismatch('non-string', goType)
    // geth reads the empty string as zero
    if (json === '') return 0n
    const read = quantityDigits(json)
    if ('fault' in read) throw new TypeMismatch(read.fault, goType)
    if (read.digits.length > bits / 4) throw new TypeMismatch(`hex number > ${bits} bits`, goType)
    if (!/^[0-9a-f]+$/i.test(read.digits)) throw new TypeMismatch('invalid hex string', goType)
    return BigInt(`0x${read.digits}`)
  }
}

/** 64-bit unsigned integer. */
export const readUint64: ParamReader<bigint> = quantity(64, 'hexutil.Uint64')

/** 256-bit unsigned integer. */
export const readUint256: ParamReader<bigint> = quantity(256, 'hexutil.Big')

/** Index of a transaction or uncle within its block (beyond 2^53 exactness is lost, but nothing is there). */
export const readIndex: ParamReader<number> = (json) => Number(readIndexBits(json))

const readIndexBits = quantity(64, 'hexutil.Uint')

/**
 * A block number as geth reads it in tags' place (`hexutil.DecodeUint64`), where errors are not wrapped.
 * @throws InvalidArgument
 */
export function decodeBlockNumber(text: string): number {
  if (text === '') throw new InvalidArgument('empty hex string')
  const read = quantityDigits(text)
  if ('fault' in read) throw new InvalidArgument(read.fault)
  if (!/^[0-9a-f]+$/i.test(read.digits)) throw new InvalidArgument('invalid hex string')
  const number = BigInt(`0x${read.digits}`)
  if (number >= 1n << 64n) throw new InvalidArgument('hex number > 64 bits')
  if (number >= 1n << 63n) throw new InvalidArgument('block number larger than int64')
  return Number(number)
}

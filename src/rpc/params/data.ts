import type { Address } from '../../primitives/address.ts'
import { hexToBytes } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import { InvalidArgument } from '../errors.ts'
import type { ParamReader } from '../method.ts'
import { TypeMismatch } from './mismatch.ts'

/** Digits of DATA with an even length. @throws TypeMismatch */
function dataDigits(json: unknown, goType: string): string {
  if (typeof json !== 'string') throw new TypeMismatch('non-string', goType)
  if (json === '') return ''
  if (!/^0x/i.test(json)) throw new TypeMismatch('hex string without 0x prefix', goType)
  if (json.length % 2 !== 0) throw new TypeMismatch('hex string of odd length', goType)
  return json.slice(2)
}

function decodeDigits(digits: string, goType: string): Uint8Array {
  try {
    return hexToBytes(`0x${digits}`)
  } catch {
    throw new TypeMismatch('invalid hex string', goType)
  }
}

/** DATA of any length; the empty string is no bytes, as in geth. */
export const readData: ParamReader<Uint8Array> = (json) =>
  decodeDigits(dataDigits(json, 'hexutil.Bytes'), 'hexutil.Bytes')

/** A reader of DATA of exactly `length` bytes. */
export function fixedData(length: number, goType: string): ParamReader<Uint8Array> {
  return (json) => {
    const digits = dataDigits(json, goType)
    if (digits.length !== length * 2) {
      throw new InvalidArgument(`hex string has length ${digits.length}, want ${length * 2} for ${goType}`)
    }
    return decodeDigits(digits, goType)
  }
}

/** 20 bytes; the case of letters is free and a checksum is not enforced. */
export const readAddress: ParamReader<Address> = fixedData(20, 'common.Address')

/** 32 bytes. */
export const readHash: ParamReader<Hash> = fixedData(32, 'common.Hash')

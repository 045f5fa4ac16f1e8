import { bigIntToBytes, concatBytes, EMPTY_BYTES, hexToBytes } from '../../../src/primitives/bytes.ts'

/**
 * Code that calls a precompile in a loop, see {@link precompileCalls}. Returns how many calls had success, or reverts with it.
 */
export function precompileCaller(opcode: 'CALL' | 'CALLCODE' | 'DELEGATECALL' | 'STATICCALL' = 'CALL'): Uint8Array {
  const value = opcode === 'CALL' || opcode === 'CALLCODE' ? '5f' : ''
  const start = '60803603' + '8060805f37' + '5f' + '604035'
  const loop = start.length / 2
  const call = { CALL: 'f1', CALLCODE: 'f2', DELEGATECALL: 'f4', STATICCALL: 'fa' }[opcode]
  // a step ends with a jump back; JUMPI and JUMP take 3 and 3 bytes with what they push
  const step = `60019003${'5f5f845f'}${value}5f35602035${call}90910190`
  const end = loop + 1 + 5 + step.length / 2 + 3
  const body = `5b801560${byte(end)}57${step}60${byte(loop)}56`
  const failing = end + 14
  return hexToBytes(`0x${start}${body}5b505f5260603560${byte(failing)}5760205ff35b60205ffd`)
}

export interface PrecompileCalls {
  /** of the precompile's address */
  readonly number: number
  /** that each call is given */
  readonly gas: bigint
  readonly count: number
  readonly reverts?: boolean
  readonly input?: Uint8Array
}

/** Calldata of {@link precompileCaller}. */
export function precompileCalls({ number, gas, count, reverts = false, input }: PrecompileCalls): Uint8Array {
  const words = [BigInt(number), gas, BigInt(count), reverts ? 1n : 0n].map((word) => bigIntToBytes(word, 32))
  return concatBytes(...words, input ?? EMPTY_BYTES)
}

function byte(value: number): string {
  return value.toString(16).padStart(2, '0')
}

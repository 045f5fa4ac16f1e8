import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'
import type { Answer } from './differences.ts'
import type { SimulateParams } from './simulateRequest.ts'

/** A request on the head of the suite's chain, and what geth answered. */
export interface SimulateVector {
  readonly params: SimulateParams
  readonly answer: Answer
}

export function encodeVectors(vectors: readonly SimulateVector[]): Uint8Array {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 }
  return brotliCompressSync(JSON.stringify(vectors), { params })
}

export function decodeVectors(file: Uint8Array): readonly SimulateVector[] {
  return JSON.parse(brotliDecompressSync(file).toString())
}

import { equalBytes } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import { ProtobufWriter } from '../../primitives/protobuf.ts'
import { merkleRoot } from './merkle.ts'

/** The fields of a transaction's result that consensus agrees on. */
export interface TxResult {
  /** 0 means success */
  readonly code: number
  readonly data: Uint8Array
  readonly gasWanted: bigint
  readonly gasUsed: bigint
}

/** header.last_results_hash of the next block: over tendermint.abci.ExecTxResult with only these fields (types/results.go). */
export function resultsHash(results: readonly TxResult[]): Hash {
  const leaves: Uint8Array[] = []
  for (let i = 0; i < results.length; i++) {
    leaves.push(i > 0 && equalResults(results[i]!, results[i - 1]!) ? leaves[i - 1]! : encodeResult(results[i]!))
  }
  return merkleRoot(leaves)
}

function encodeResult({ code, data, gasWanted, gasUsed }: TxResult): Uint8Array {
  return new ProtobufWriter().varint(1, code).bytes(2, data).varint(5, gasWanted).varint(6, gasUsed).finish()
}

function equalResults(a: TxResult, b: TxResult): boolean {
  return a.code === b.code && a.gasWanted === b.gasWanted && a.gasUsed === b.gasUsed && equalBytes(a.data, b.data)
}

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
  return merkleRoot(
    results.map(({ code, data, gasWanted, gasUsed }) =>
      new ProtobufWriter().varint(1, code).bytes(2, data).varint(5, gasWanted).varint(6, gasUsed).finish(),
    ),
  )
}

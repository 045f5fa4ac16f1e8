import { type MerkleProof, merkleProofs } from '../../../chain/consensus/merkle.ts'
import { entryHash } from '../../../chain/entries.ts'
import { sha256 } from '../../../primitives/hash.ts'
import type { FoundTransaction } from '../../events/findTransactions.ts'
import type { SearchChain } from '../../events/search.ts'
import type { JsonObject } from '../../format/json.ts'
import { entryTxResult } from './entryTxResult.ts'
import { base64, upperHex } from './text.ts'
import { txResultJson } from './txResultJson.ts'

/** coretypes.ResultTx. `found` is of a block that is kept. */
export function txJson(chain: SearchChain, { height, position }: FoundTransaction, prove: boolean): JsonObject {
  const { txs } = chain.consensusBlock(height)!
  const tx = txs[position]!
  return {
    hash: upperHex(entryHash(tx)),
    height: String(height),
    index: position,
    tx_result: txResultJson(entryTxResult(chain.entryResults(height)![position]!)),
    tx: base64(tx),
    ...(prove ? { proof: proofJson(txs, position) } : {}),
  }
}

/** types.TxProof: that a transaction is under the header's data_hash. */
function proofJson(txs: readonly Uint8Array[], position: number): JsonObject {
  const { root, proofs } = merkleProofs(txs.map((tx) => sha256(tx)))
  return { root_hash: upperHex(root), data: base64(txs[position]!), proof: merkleProofJson(proofs[position]!) }
}

function merkleProofJson({ total, index, leafHash, aunts }: MerkleProof): JsonObject {
  return { total: String(total), index: String(index), leaf_hash: base64(leafHash), aunts: aunts.map(base64) }
}

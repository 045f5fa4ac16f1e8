import {
  BLOCK_PROTOCOL,
  dataHash,
  encodeBlock,
  headerHash,
  resultsHash,
} from '../../../../src/chain/consensus/block.ts'
import { commitHash } from '../../../../src/chain/consensus/commit.ts'
import { evidenceHash } from '../../../../src/chain/consensus/evidence.ts'
import { createPartSet } from '../../../../src/chain/consensus/partSet.ts'
import { BLOCK_ID_FLAGS, type BlockId, type Commit } from '../../../../src/chain/consensus/types.ts'
import type { EvmEntry, NativeEntry, StoredEntry } from '../../../../src/chain/entries.ts'
import { type EthereumHeader, ethereumHeaderHash } from '../../../../src/chain/ethereumBlock.ts'
import { logsBloom } from '../../../../src/chain/receipt.ts'
import { writeOldestBlocks } from '../../../../src/chain/store.ts'
import { buildTransaction } from '../../../../src/chain/transaction.ts'
import { writeBlock, writeHeadRecord } from '../../../../src/chain/writeBlock.ts'
import { concatBytes } from '../../../../src/primitives/bytes.ts'
import { EMPTY_TRIE_ROOT, EMPTY_UNCLES_HASH, keccak256, sha256 } from '../../../../src/primitives/hash.ts'
import { WriteBatch } from '../../../../src/storage/batch.ts'
import { heightBytes } from '../../../../src/storage/columns.ts'
import type { WritableDatabase } from '../../../../src/storage/database.ts'
import { encodeFormat, FORMAT_KEY, GENESIS_HASH_KEY } from '../../../../src/storage/format.ts'
import { signEvmTransaction } from '../../../signEvmTransaction.ts'

/** Bytes that are random, and the same for the same heights in each run. */
function randomBytes(length: number, ...seeds: number[]): Uint8Array {
  let out = new Uint8Array(0)
  for (let part = 0; out.length < length; part++) {
    out = new Uint8Array(concatBytes(out, sha256(concatBytes(...[...seeds, part].map(heightBytes)))))
  }
  return out.slice(0, length)
}

const EXTRA_DATA = new TextEncoder().encode('coind')
const KEY = new Uint8Array(32).fill(7)

/** An EVM transaction with one log, a native one, and one that could not start. */
function someEntries(height: number): readonly StoredEntry[] {
  const logs = [
    { address: new Uint8Array(20).fill(0xcc), topics: [randomBytes(32, height)], data: heightBytes(height) },
  ]
  const transaction = signEvmTransaction(
    buildTransaction({ type: 2, chainId: 1n, nonce: BigInt(height), to: new Uint8Array(20).fill(0xdd) }),
    KEY,
  )
  const evm: EvmEntry = {
    kind: 'evm',
    index: 0,
    signed: { transaction, sender: new Uint8Array(20).fill(0xee) },
    receipt: {
      type: 2,
      status: 1,
      gasUsed: 21_000n,
      cumulativeGasUsed: 21_000n,
      effectiveGasPrice: 10n ** 9n,
      logs,
      logsBloom: logsBloom(logs),
      contractAddress: undefined,
      blobGasUsed: undefined,
      blobGasPrice: undefined,
    },
    transfers: [],
    events: [],
  }
  const native: NativeEntry = {
    kind: 'native',
    raw: Uint8Array.of(0x0a, ...heightBytes(height)),
    result: { code: 0, codespace: '', log: '', data: new Uint8Array(0), gasWanted: 9n, gasUsed: 8n, events: [] },
  }
  return [native, { kind: 'skipped', code: 3, codespace: 'sdk', reason: 'why', gasWanted: 1n }, evm]
}

interface OldChain {
  /** lowest block, as on a node that began with a snapshot */
  readonly base: number
  readonly head: number
  readonly validators?: number
  /** whether the block at a height has transactions; by default every tenth */
  readonly isFull?: (height: number) => boolean
}

/** Writes blocks that nobody executed, as the executor writes them. Each refers to the one before. */
export async function writeOldChain(
  database: WritableDatabase,
  { base, head, validators = 4, isFull = (height) => height % 10 === 0 }: OldChain,
): Promise<void> {
  const batch = new WriteBatch()
  const signers = Array.from({ length: validators }, (_, index) => sha256(heightBytes(index)).slice(0, 20))
  const genesisTimeMs = 1_700_000_000_000
  let parentHash: Uint8Array = randomBytes(32, base)
  let mixHash: Uint8Array = parentHash
  let lastBlockId: BlockId = {
    hash: randomBytes(32, base, 1),
    partSetHeader: { total: 1, hash: randomBytes(32, base, 2) },
  }
  let lastResultsHash = resultsHash([])
  for (let height = base; height <= head; height++) {
    const timeMs = genesisTimeMs + 400 * height + (randomBytes(1, height)[0]! % 8)
    const commitOf = (of: number, blockId: BlockId): Commit => ({
      height: of,
      round: 0,
      blockId,
      signatures: signers.map((validatorAddress, index) => ({
        flag: BLOCK_ID_FLAGS.commit,
        validatorAddress,
        timestampMs: timeMs + (randomBytes(1, of, index)[0]! % 64) - 32,
        signature: randomBytes(64, of, index, 3),
      })),
    })
    const entries = isFull(height) ? someEntries(height) : []
    const txs = entries.map((entry) => {
      if (entry.kind === 'native') return entry.raw
      return entry.kind === 'evm' ? entry.signed.transaction.raw : Uint8Array.of(1, 2, 3)
    })
    const lastCommit = commitOf(height - 1, lastBlockId)
    const proposerAddress = signers[height % validators]!
    const block = {
      header: {
        version: { block: BLOCK_PROTOCOL, app: 0 },
        chainId: 'coin_76287-1',
        height,
        timeMs,
        lastBlockId,
        lastCommitHash: commitHash(lastCommit),
        dataHash: dataHash(txs),
        validatorsHash: sha256(Uint8Array.of(1)),
        nextValidatorsHash: sha256(Uint8Array.of(1)),
        consensusHash: sha256(Uint8Array.of(2)),
        appHash: parentHash,
        lastResultsHash,
        evidenceHash: evidenceHash([]),
        proposerAddress,
      },
      txs,
      evidence: [],
      lastCommit,
    }
    mixHash = keccak256(concatBytes(mixHash, lastBlockId.hash))
    const header: EthereumHeader = {
      parentHash,
      sha3Uncles: EMPTY_UNCLES_HASH,
      miner: sha256(proposerAddress).slice(0, 20),
      stateRoot: randomBytes(32, height, 4),
      transactionsRoot: entries.length === 0 ? EMPTY_TRIE_ROOT : randomBytes(32, height, 5),
      receiptsRoot: entries.length === 0 ? EMPTY_TRIE_ROOT : randomBytes(32, height, 6),
      logsBloom: logsBloom(entries.flatMap((entry) => (entry.kind === 'evm' ? entry.receipt.logs : []))),
      difficulty: 0n,
      number: height,
      gasLimit: 30_000_000n,
      gasUsed: entries.length === 0 ? 0n : 21_000n,
      timestamp: Math.floor(timeMs / 1000),
      extraData: EXTRA_DATA,
      mixHash,
      nonce: new Uint8Array(8),
      baseFeePerGas: 10n ** 9n,
      withdrawalsRoot: EMPTY_TRIE_ROOT,
      blobGasUsed: 0n,
      excessBlobGas: 0n,
      parentBeaconBlockRoot: lastBlockId.hash,
      requestsHash: sha256(new Uint8Array(0)),
    }
    const encoded = encodeBlock(block)
    const hash = ethereumHeaderHash(header)
    const blockId = { hash: headerHash(block.header), partSetHeader: createPartSet(encoded).header }
    writeBlock(batch, {
      header,
      hash,
      consensus: { block: encoded, hash: blockId.hash },
      entries,
      events: { begin: [], end: [] },
      isIndexed: true,
    })
    if (height === head) {
      writeHeadRecord(batch, {
        height,
        decided: { blockId, seenCommit: commitOf(height, blockId) },
        resultsHash: lastResultsHash,
      })
    }
    parentHash = hash
    lastBlockId = blockId
    lastResultsHash = entries.length === 0 ? resultsHash([]) : randomBytes(32, height, 7)
  }
  batch.put(GENESIS_HASH_KEY, sha256(new Uint8Array(0)))
  batch.put(FORMAT_KEY, encodeFormat())
  if (base > 0) writeOldestBlocks(batch, { base, oldestBlock: base })
  await database.write(batch, { sync: false })
}

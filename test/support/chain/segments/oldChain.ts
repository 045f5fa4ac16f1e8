import type { EvmEntry, NativeEntry, StoredEntry } from '../../../../src/chain/block/entries.ts'
import { type EthereumHeader, ethereumHeaderHash } from '../../../../src/chain/block/ethereumBlock.ts'
import { logsBloom } from '../../../../src/chain/block/receipt.ts'
import { buildTransaction } from '../../../../src/chain/block/transaction.ts'
import { BLOCK_PROTOCOL, dataHash, encodeBlock, headerHash, resultsHash } from '../../../../src/chain/comet/block.ts'
import { commitHash, commitSignBytes } from '../../../../src/chain/comet/commit.ts'
import { evidenceHash } from '../../../../src/chain/comet/evidence.ts'
import { createPartSet } from '../../../../src/chain/comet/partSet.ts'
import { BLOCK_ID_FLAGS, type BlockId, type Commit, type ValidatorSet } from '../../../../src/chain/comet/types.ts'
import { createValidatorSet, validatorSetHash } from '../../../../src/chain/comet/validatorSet.ts'
import { writeOldestBlocks } from '../../../../src/chain/store/chainReader.ts'
import { writeValidators } from '../../../../src/chain/store/validatorRecords.ts'
import { writeBlock, writeHeadRecord } from '../../../../src/chain/store/writeBlock.ts'
import { bytesKey, concatBytes, equalBytes } from '../../../../src/primitives/bytes.ts'
import { type Ed25519Key, ed25519Address, signEd25519 } from '../../../../src/primitives/ed25519.ts'
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

const CHAIN_ID = 'coin_76287-1'
const EXTRA_DATA = new TextEncoder().encode('coind')
const KEY = new Uint8Array(32).fill(7)

/** An EVM transaction with logs, a native one, and one that could not start. */
function someEntries(height: number, logCount: number, logBytes: number): readonly StoredEntry[] {
  const logs = Array.from({ length: logCount }, (_, index) => ({
    address: new Uint8Array(20).fill(0xcc),
    topics:
      index === 0 ? [randomBytes(32, height)] : [8, 9, 10, 11].map((kind) => randomBytes(32, height, index, kind)),
    data: concatBytes(heightBytes(height), new Uint8Array(logBytes)),
  }))
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
  /** the keys of a block's validators, which then sign it; without it signatures are random, and no validators are stored */
  readonly keysAt?: (height: number) => readonly Ed25519Key[]
  /** whether the block at a height has transactions; by default every tenth */
  readonly isFull?: (height: number) => boolean
  /** how many logs such a block has, 1 by default: one with one topic, and others with four that no other has */
  readonly logsAt?: (height: number) => number
  /** zeros at the end of each log's data, 0 by default */
  readonly logBytes?: number
}

/** Writes blocks that nobody executed, as the executor writes them. Each refers to the one before. */
export async function writeOldChain(
  database: WritableDatabase,
  {
    base,
    head,
    validators = 4,
    keysAt,
    isFull = (height) => height % 10 === 0,
    logsAt = () => 1,
    logBytes = 0,
  }: OldChain,
): Promise<void> {
  const batch = new WriteBatch()
  const strangers = Array.from({ length: validators }, (_, index) => sha256(heightBytes(index)).slice(0, 20))
  const setAt = (height: number): ValidatorSet | undefined =>
    keysAt && createValidatorSet(keysAt(height).map(({ publicKey }) => ({ publicKey, power: 10n })))
  const hashAt = (height: number): Uint8Array => {
    const set = setAt(height)
    return set === undefined ? sha256(Uint8Array.of(1)) : validatorSetHash(set)
  }
  const genesisTimeMs = 1_700_000_000_000
  let parentHash: Uint8Array = randomBytes(32, base)
  let mixHash: Uint8Array = parentHash
  let lastBlockId: BlockId = {
    hash: randomBytes(32, base, 1),
    partSetHeader: { total: 1, hash: randomBytes(32, base, 2) },
  }
  let lastResultsHash = resultsHash([])
  /** records of validators, of which a later one needs the earlier ones */
  const written = new Map<string, Uint8Array>()
  for (let height = base; height <= head; height++) {
    const timeMs = genesisTimeMs + 400 * height + (randomBytes(1, height)[0]! % 8)
    const signers = setAt(height)?.validators.map(({ address }) => address) ?? strangers
    const commitOf = (of: number, blockId: BlockId): Commit => {
      const addresses = setAt(of)?.validators.map(({ address }) => address) ?? strangers
      const commit: Commit = {
        height: of,
        round: keysAt === undefined ? 0 : of % 3,
        blockId,
        signatures: addresses.map((validatorAddress, index) => ({
          flag: BLOCK_ID_FLAGS.commit,
          validatorAddress,
          timestampMs: timeMs + (randomBytes(1, of, index)[0]! % 64) - 32,
          signature: randomBytes(64, of, index, 3),
        })),
      }
      if (keysAt === undefined) return commit
      const signatures = commit.signatures.map((sig, index) => {
        const key = keysAt(of).find(({ publicKey }) => equalBytes(ed25519Address(publicKey), sig.validatorAddress))!
        return { ...sig, signature: signEd25519(key, commitSignBytes(CHAIN_ID, commit, index)) }
      })
      return { ...commit, signatures }
    }
    const entries = isFull(height) ? someEntries(height, logsAt(height), logBytes) : []
    const txs = entries.map((entry) => {
      if (entry.kind === 'native') return entry.raw
      return entry.kind === 'evm' ? entry.signed.transaction.raw : Uint8Array.of(1, 2, 3)
    })
    const lastCommit = commitOf(height - 1, lastBlockId)
    const proposerAddress = signers[height % signers.length]!
    const block = {
      header: {
        version: { block: BLOCK_PROTOCOL, app: 0 },
        chainId: CHAIN_ID,
        height,
        timeMs,
        lastBlockId,
        lastCommitHash: commitHash(lastCommit),
        dataHash: dataHash(txs),
        validatorsHash: hashAt(height),
        nextValidatorsHash: hashAt(height + 1),
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
    const set = setAt(height)
    if (set !== undefined) {
      const buffered = { get: (key: Uint8Array) => written.get(bytesKey(key)) }
      const records = new WriteBatch()
      const isChanged = height === base || !equalBytes(hashAt(height), hashAt(height - 1))
      const ranked = { ...set, priorities: set.validators.map(() => 0n), proposer: 0 }
      writeValidators(records, buffered, { height, set: ranked, isChanged })
      records.forEach((key, value) => {
        written.set(bytesKey(key), value!.slice())
      })
      batch.append(records)
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

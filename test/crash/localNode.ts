import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { privateKeyToAccount } from 'viem/accounts'
import { entryHash } from '../../src/chain/block/entries.ts'
import { decodeTransaction } from '../../src/chain/block/transaction.ts'
import { createGenesis } from '../../src/chain/genesis/createGenesis.ts'
import { chainConfigOf, formatGenesis } from '../../src/chain/genesis/genesis.ts'
import { localKey } from '../../src/consensus/consensusKey.ts'
import { type ConsensusService, openConsensusService } from '../../src/consensus/consensusService.ts'
import { engineChainOf } from '../../src/consensus/consensusState.ts'
import { openEvidenceFiles } from '../../src/consensus/evidenceStore.ts'
import { createValidatorKey, validatorKey } from '../../src/consensus/validatorKey.ts'
import { ValidatorKeys } from '../../src/consensus/validatorKeys.ts'
import type { WalDisk } from '../../src/consensus/wal.ts'
import { dataPaths } from '../../src/datadir/dataDirectory.ts'
import { chooseEngine, createEngine } from '../../src/evm/engines/createEngine.ts'
import { type Executor, openExecutor } from '../../src/execution/executor.ts'
import { genesisStateOf } from '../../src/execution/genesisBlock.ts'
import type { PooledTransaction } from '../../src/mempool/types.ts'
import { MsgSend } from '../../src/modules/bank/messages.ts'
import { precompileTable } from '../../src/precompiles/registry.ts'
import { toBech32 } from '../../src/primitives/address.ts'
import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.ts'
import { anyOf, signTestTransaction } from '../native/signTransaction.ts'
import { racingClock } from '../support/consensus/racingClock.ts'
import { GENESIS_TIME_MS, WALLET, WALLET_KEY } from '../support/execution/testChain.ts'

const SEED = new Uint8Array(32).fill(42)
const KEY = validatorKey(SEED)
const GENESIS = createGenesis({
  genesisTimeMs: GENESIS_TIME_MS,
  chainId: 'coin_76287-1',
  wallet: WALLET,
  selfDelegationAcoin: 10n ** 24n,
  consensusPublicKey: KEY.publicKey,
  moniker: 'crash',
})

export interface LocalNodeOptions {
  /** holds `db` and `wal` */
  readonly directory: string
  readonly transactions?: ((height: number) => readonly PooledTransaction[]) | undefined
  readonly pruning?: number
  readonly segmentBytes?: number
  readonly disk?: WalDisk
  /** ends the start */
  readonly signal?: AbortSignal
  /** a block of the write-ahead log was executed */
  readonly onReplayed?: (height: number) => void
}

/** A node without threads and sockets whose time passes as fast as it can work. */
interface LocalNode {
  readonly executor: Executor
  readonly consensus: ConsensusService
  /** application hash by height, of the blocks that were replayed or decided here */
  readonly hashes: ReadonlyMap<number, string>
  /** height at which the write-ahead log had nothing more */
  readonly replayedTo: number
  readonly halted: Promise<Error>
  reached(height: number): Promise<void>
  close(): Promise<void>
}

/** Makes the directory one that the command line can use (NETWORK is devnet). */
export function writeConfig(directory: string): void {
  const paths = dataPaths(directory)
  mkdirSync(paths.config, { recursive: true, mode: 0o700 })
  writeFileSync(paths.genesis, formatGenesis(GENESIS))
  createValidatorKey(paths.validatorKey, SEED)
}

/** Transfers of one account for the blocks of a local node, the same number in each; every third one is native. */
export async function signTransfers(blocks: number, perBlock: number): Promise<LocalNodeOptions['transactions']> {
  const account = privateKeyToAccount(WALLET_KEY)
  const transfers: PooledTransaction[] = []
  for (let nonce = 0; nonce < blocks * perBlock; nonce++) {
    if (nonce % 3 === 2) {
      const raw = signSend(nonce)
      transfers.push({ raw, hash: entryHash(raw), sender: WALLET })
      continue
    }
    const signed = await account.signTransaction({
      type: 'eip1559',
      chainId: 76287,
      nonce,
      gas: 21_000n,
      maxFeePerGas: 10n ** 10n,
      maxPriorityFeePerGas: 10n ** 9n,
      to: `0x${(nonce + 1).toString(16).padStart(40, '0')}`,
      value: 1n,
    })
    const raw = hexToBytes(signed)
    transfers.push({ raw, hash: decodeTransaction(raw).hash, sender: WALLET })
  }
  return (height) => transfers.slice((height - 1) * perBlock, height * perBlock)
}

/** A MsgSend of one acoin. */
function signSend(sequence: number): Uint8Array {
  const toAddress = toBech32(hexToBytes(`0x${(sequence + 1).toString(16).padStart(40, '0')}`))
  const amount = [{ denom: 'acoin', amount: 1n }]
  return signTestTransaction({
    messages: [anyOf(MsgSend, { fromAddress: toBech32(WALLET), toAddress, amount })],
    signers: [{ privateKey: hexToBytes(WALLET_KEY), sequence }],
    gasLimit: 100_000n,
  })
}

/** @throws the error that prevents a node from starting */
export async function openLocalNode(options: LocalNodeOptions): Promise<LocalNode> {
  const chain = chainConfigOf(GENESIS)
  const clock = racingClock(GENESIS_TIME_MS + 1_000)
  const hashes = new Map<number, string>()
  const waiting: { readonly height: number; readonly resolve: () => void }[] = []
  const halted = Promise.withResolvers<Error>()
  const executor = await openExecutor({
    location: join(options.directory, 'db'),
    chain,
    genesis: () => genesisStateOf(GENESIS),
    engine: await createEngine(await chooseEngine('wasm'), { hashSeed: 0n }),
    precompiles: precompileTable(chain.registeredPrecompiles),
    candidates: {
      candidates: async ({ isFirst, height }) => (isFirst ? (options.transactions?.(height) ?? []) : []),
    },
    pruning: options.pruning ?? 'archive',
    blockHistory: 0,
    defer: (work) => work(),
    now: () => clock.monotonicMs(),
    later: () => undefined,
    onPublished: () => undefined,
  })
  try {
    let replayedTo = executor.head().header.number
    const wal = join(options.directory, 'wal')
    const consensus = await openConsensusService({
      application: executor.application,
      keys: new ValidatorKeys([localKey(KEY)]),
      chain: engineChainOf(chain, 0, Number(GENESIS.consensus.params.block.max_gas)),
      wal: {
        directory: wal,
        randomBytes,
        warn: () => undefined,
        ...(options.segmentBytes === undefined ? {} : { segmentBytes: options.segmentBytes }),
        ...(options.disk === undefined ? {} : { disk: options.disk }),
      },
      evidenceStore: openEvidenceFiles(join(wal, 'evidence')),
      clock,
      transport: {
        send: () => undefined,
        publishEvidence: () => undefined,
        fetchBlocks: () => Promise.reject(new Error('there is no network')),
        punish: () => undefined,
      },
      onDecided: ({ decided, result, source }) => {
        const { height } = decided.block.header
        hashes.set(height, bytesToHex(result.appHash))
        if (source === 'log') {
          replayedTo = height
          options.onReplayed?.(height)
        }
        for (const waiter of waiting) if (height >= waiter.height) waiter.resolve()
      },
      onHalt: (error) => halted.resolve(error),
      onBehind: () => undefined,
      onUnknownSignature: () => undefined,
      onTimedProposal: () => undefined,
      log: () => undefined,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    })
    consensus.startEngine()
    return {
      executor,
      consensus,
      hashes,
      replayedTo,
      halted: halted.promise,
      reached: (height) => new Promise((resolve) => void waiting.push({ height, resolve })),
      close: async () => {
        await consensus.close()
        await executor.close()
      },
    }
  } catch (error) {
    await executor.close()
    throw error
  }
}

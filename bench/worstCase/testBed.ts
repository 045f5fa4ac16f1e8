import { NATIVE_TOKEN_ADDRESS, STATIC_PRECOMPILES } from '../../src/chain/genesis/genesisConstants.ts'
import { callTerm } from '../../src/chain/indexes/callIndex.ts'
import type { BlockContext } from '../../src/evm/blockContext.ts'
import type { Engine, ExecutionEnvironment } from '../../src/evm/engine.ts'
import { precompileTable } from '../../src/precompiles/registry.ts'
import type { Address } from '../../src/primitives/address.ts'
import { bigIntToBytes, hexToBytes } from '../../src/primitives/bytes.ts'
import { keccak256 } from '../../src/primitives/hash.ts'
import { Journal } from '../../src/state/journal.ts'
import type { StateStore } from '../../src/state/stateStore.ts'
import type { Program } from './program.ts'
import { HOARDER } from './testState.ts'

/** EIP-7825, less the intrinsic gas of the transaction. */
export const TRANSACTION_GAS = 2 ** 24 - 21_000

interface Measurement {
  /** that the run used */
  readonly gas: number
  /** of this thread's processor; the system counts in ticks of some milliseconds */
  readonly ms: number
  /** of the run by the clock */
  readonly wallMs: number
  /** of `ms`, for the root of the state after the run */
  readonly commitMs: number
  readonly failure: string | undefined
}

export type Measure = (program: Program, gas: number, firstIndex: number) => Promise<Measurement>

const CALLER: Address = new Uint8Array(20).fill(0xca)
const RICH = 10n ** 24n
const BLOCK_NUMBER = 1_000_000

const BLOCK_HASHES = Array.from({ length: 256 }, (_, index) => keccak256(Uint8Array.of(index)))

export const BLOCK: BlockContext = {
  number: BLOCK_NUMBER,
  timestamp: 1_700_000_000,
  timeMs: 1_700_000_000_000,
  gasLimit: 100_000_000n,
  coinbase: new Uint8Array(20).fill(0xc1),
  baseFeePerGas: 10n ** 9n,
  prevRandao: keccak256(Uint8Array.of(1)),
  difficulty: 0n,
  blobBaseFee: 1n,
  blockHash: (number) => BLOCK_HASHES[number % 256],
}

/**
 * Measures one transaction of a program under Osaka's rules, as the code of {@link HOARDER} on the state of `store`.
 * @param collectsCalls as a block does with INDEX_TRACES
 */
export function createMeasure(store: StateStore, engine: Engine, collectsCalls = false): Measure {
  const rules = { fork: 'osaka', chainId: 76287n } as const
  const precompiles = precompileTable([NATIVE_TOKEN_ADDRESS, ...STATIC_PRECOMPILES].map(hexToBytes))
  return async (program, gas, firstIndex) => {
    const world = new Journal(store.reader())
    world.setBalance(CALLER, RICH)
    for (const { address, code } of [{ address: HOARDER, code: program.code }, ...(program.helpers ?? [])]) {
      world.setBalance(address, RICH)
      world.setCode(address, code)
      world.setNonce(address, 1n)
    }
    world.endTransaction({ clearEmpty: false })
    world.beginTransaction()
    for (const address of [CALLER, HOARDER, BLOCK.coinbase]) world.warmAddress(address)
    const terms = new Set<string>()
    const onParty = (address: Address): void => void terms.add(callTerm(address))
    const environment: ExecutionEnvironment = {
      ...(collectsCalls ? { tracer: { onParty } } : {}),
      world,
      block: BLOCK,
      transaction: { origin: CALLER, gasPrice: 10n ** 9n, blobHashes: [] },
      rules,
      precompiles,
    }
    const data = bigIntToBytes(BigInt(firstIndex), 32)
    const message = { caller: CALLER, to: HOARDER, value: 0n, data, gasLimit: BigInt(gas) }
    const begin = performance.now()
    const before = process.threadCpuUsage()
    const result = await engine.run(message, environment)
    world.endTransaction({ clearEmpty: true })
    const end = performance.now()
    const ran = process.threadCpuUsage()
    if (program.commits === true) await store.apply(world.changes(), store.height + 1)
    const committed = process.threadCpuUsage()
    return {
      gas: Number(result.gasUsed),
      ms: milliseconds(before, committed),
      wallMs: end - begin,
      commitMs: milliseconds(ran, committed),
      failure: result.status === 'success' ? undefined : (result.failure?.message ?? 'revert'),
    }
  }
}

function milliseconds(from: NodeJS.CpuUsage, to: NodeJS.CpuUsage): number {
  return (to.user + to.system - from.user - from.system) / 1_000
}

import type { Hex } from 'viem'
import type { Log } from '../../../src/chain/block/receipt.ts'
import { PREINSTALLS } from '../../../src/chain/genesis/createGenesis.ts'
import { totalBurnt } from '../../../src/evm/coinMovements.ts'
import { type AppliedTransaction, applyCall, type CallMessage } from '../../../src/evm/transition.ts'
import { getSupply, recordBurn, setSupply } from '../../../src/modules/bank/ledger.ts'
import { NATIVE_TOKEN_ADDRESS } from '../../../src/modules/bank/precompile/nativeToken.ts'
import { FEE_COLLECTOR } from '../../../src/modules/moduleAccounts.ts'
import { precompileTable } from '../../../src/precompiles/registry.ts'
import type { Address } from '../../../src/primitives/address.ts'
import { bytesToBigInt, bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { Journal } from '../../../src/state/journal.ts'
import { productionEngine } from '../evm/productionEngine.ts'
import { MemoryStateReader } from '../state/memoryReader.ts'

export const TOKEN: Hex = bytesToHex(NATIVE_TOKEN_ADDRESS)
export const CHAIN_ID = 76287n
const BASE_FEE = 7n
/** base fee and a tip of 2 */
export const GAS_PRICE = BASE_FEE + 2n

export interface MemoryChainOptions {
  /** whether the genesis registers the native token; by default it does */
  readonly withToken?: boolean
  readonly balances?: Readonly<Record<Hex, bigint>>
  readonly code?: Readonly<Record<Hex, Hex>>
  /** by default all that a genesis has */
  readonly preinstalls?: typeof PREINSTALLS
  /** by default {@link CHAIN_ID} */
  readonly chainId?: bigint
  /** who the fees go to; by default the fee collector */
  readonly feesTo?: Address
  readonly coinbase?: Address
}

interface SentTransaction {
  readonly from: Hex
  readonly to?: Hex | undefined
  readonly data?: Hex
  readonly value?: bigint
  readonly gas?: bigint
  readonly authorizationList?: CallMessage['authorizationList']
}

/** A chain's state in memory, on which transactions run with the node's engine, each committed before the next. */
export interface MemoryChain {
  send(transaction: SentTransaction): Promise<AppliedTransaction>
  /** Runs without any effect on the state, at a gas price of 0. */
  call(transaction: SentTransaction): Promise<AppliedTransaction>
  balance(address: Hex): bigint
  /** sum over all accounts */
  sumOfBalances(): bigint
  supply(): bigint
  code(address: Hex): Hex
  nonce(address: Hex): bigint
  storage(address: Hex, slot: Hex): bigint
  /** all accounts with a balance */
  holders(): ReadonlyMap<Hex, bigint>
}

export function createMemoryChain(options: MemoryChainOptions = {}): MemoryChain {
  const registered = options.withToken === false ? [] : [NATIVE_TOKEN_ADDRESS]
  const state = new MemoryStateReader()
  const genesis = new Journal(state)
  allocate(genesis, options, registered)
  state.apply(genesis.changes())

  const engine = productionEngine
  const precompiles = precompileTable(registered)
  const block = {
    number: 1,
    timestamp: 1_700_000_000,
    timeMs: 1_700_000_000_400,
    gasLimit: 30_000_000n,
    coinbase: options.coinbase ?? FEE_COLLECTOR,
    baseFeePerGas: BASE_FEE,
    prevRandao: new Uint8Array(32),
    difficulty: 0n,
    blobBaseFee: 1n,
    blockHash: () => undefined,
  }

  async function run(world: Journal, transaction: SentTransaction, gasPrice: bigint): Promise<AppliedTransaction> {
    const { from, to, data = '0x', value = 0n, gas = 16_000_000n, authorizationList } = transaction
    const outcome = await applyCall({
      world,
      block,
      engine,
      precompiles,
      rules: { fork: 'osaka', chainId: options.chainId ?? CHAIN_ID },
      call: {
        sender: hexToBytes(from),
        to: to === undefined ? undefined : hexToBytes(to),
        data: hexToBytes(data),
        value,
        gasLimit: gas,
        type: 2,
        maxFeePerGas: gasPrice,
        maxPriorityFeePerGas: gasPrice === 0n ? 0n : gasPrice - BASE_FEE,
        ...(authorizationList === undefined ? {} : { authorizationList, type: 4 as const }),
      },
    })
    if (outcome.kind === 'skipped') throw new Error(outcome.reason)
    return outcome
  }

  return {
    async send(transaction) {
      const world = new Journal(state)
      const outcome = await run(world, transaction, GAS_PRICE)
      const { baseFeeAcoin, tipAcoin } = outcome.fees
      world.addBalance(options.feesTo ?? FEE_COLLECTOR, baseFeeAcoin + tipAcoin)
      recordBurn(world, totalBurnt(outcome.burns))
      state.apply(world.changes())
      return outcome
    },
    call: (transaction) => run(new Journal(state), transaction, 0n),
    balance: (address) => state.getAccount(hexToBytes(address))?.balance ?? 0n,
    sumOfBalances() {
      let sum = 0n
      for (const { account } of state.accounts()) sum += account.balance
      return sum
    },
    supply: () => getSupply(new Journal(state)),
    code: (address) => bytesToHex(new Journal(state).getCode(hexToBytes(address))),
    nonce: (address) => state.getAccount(hexToBytes(address))?.nonce ?? 0n,
    storage: (address, slot) => bytesToBigInt(state.getStorage(hexToBytes(address), hexToBytes(slot))),
    holders() {
      const holders = new Map<Hex, bigint>()
      for (const { address, account } of state.accounts()) {
        if (account.balance > 0n) holders.set(bytesToHex(address), account.balance)
      }
      return holders
    },
  }
}

/** Balances, contracts and the stubs of registered precompiles, as a genesis has them. */
function allocate(
  world: Journal,
  { balances = {}, code = {}, preinstalls = PREINSTALLS }: MemoryChainOptions,
  registered: readonly Address[],
): void {
  const addContract = (address: Address, bytes: Uint8Array) => {
    world.setNonce(address, 1n)
    world.setCode(address, bytes)
  }
  for (const entry of preinstalls) addContract(hexToBytes(entry.address), hexToBytes(entry.code))
  for (const address of registered) addContract(address, Uint8Array.of(0))
  for (const [address, contract] of Object.entries(code)) addContract(hexToBytes(address), hexToBytes(contract))
  for (const [address, balance] of Object.entries(balances)) world.addBalance(hexToBytes(address), balance)
  setSupply(
    world,
    Object.values(balances).reduce((sum, balance) => sum + balance, 0n),
  )
}

/** Logs in hex, for comparisons. */
export function hexLogs(logs: readonly Log[]): { address: Hex; topics: Hex[]; data: Hex }[] {
  return logs.map(({ address, topics, data }) => ({
    address: bytesToHex(address),
    topics: topics.map(bytesToHex),
    data: bytesToHex(data),
  }))
}

import type { Hex } from 'viem'
import { applyGenesis, type GenesisState } from '../../../src/app/genesisState.ts'
import type { GenesisAccount } from '../../../src/chain/genesisAllocations.ts'
import type { Log } from '../../../src/chain/log.ts'
import { PREINSTALLS } from '../../../src/chain/preinstalls.ts'
import { type AppliedTransaction, applyCall, type CallMessage } from '../../../src/evm/transition.ts'
import { recordBurn } from '../../../src/modules/bank/burn.ts'
import { getSupply } from '../../../src/modules/bank/supply.ts'
import { FEE_COLLECTOR } from '../../../src/modules/moduleAccounts.ts'
import { NATIVE_TOKEN_ADDRESS } from '../../../src/precompiles/nativeToken.ts'
import { precompileTable } from '../../../src/precompiles/registry.ts'
import type { Address } from '../../../src/primitives/address.ts'
import { bytesToBigInt, bytesToHex, EMPTY_BYTES, hexToBytes } from '../../../src/primitives/bytes.ts'
import { Journal } from '../../../src/state/journal.ts'
import { MemoryStateReader } from '../../../src/state/memoryReader.ts'
import { productionEngine } from '../evm/productionEngine.ts'

export const TOKEN: Hex = bytesToHex(NATIVE_TOKEN_ADDRESS)
export const CHAIN_ID = 76287n
export const BASE_FEE = 7n
/** base fee and a tip of 2 */
export const GAS_PRICE = BASE_FEE + 2n

export interface MemoryChainOptions {
  /** whether the genesis registers the native token; by default it does */
  readonly withToken?: boolean
  readonly balances?: Readonly<Record<Hex, bigint>>
  readonly code?: Readonly<Record<Hex, Hex>>
  /** who the fees go to; by default the fee collector */
  readonly feesTo?: Address
  readonly coinbase?: Address
}

export interface SentTransaction {
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
  applyGenesis(genesis, genesisOf(options, registered))
  state.apply(genesis.changes())

  const engine = productionEngine
  const precompiles = precompileTable(registered)
  const block = {
    number: 1,
    timestamp: 1_700_000_000,
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
      rules: { fork: 'osaka', chainId: CHAIN_ID },
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
      recordBurn(world, outcome.burntAcoin)
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

function genesisOf({ balances = {}, code = {} }: MemoryChainOptions, registered: readonly Address[]): GenesisState {
  const accounts: GenesisAccount[] = PREINSTALLS.map((entry) => ({
    address: hexToBytes(entry.address),
    nonce: 1n,
    balanceAcoin: 0n,
    code: hexToBytes(entry.code),
  }))
  for (const address of registered) accounts.push({ address, nonce: 1n, balanceAcoin: 0n, code: Uint8Array.of(0) })
  const addresses = new Set([...Object.keys(balances), ...Object.keys(code)] as Hex[])
  for (const address of addresses) {
    const contract = code[address]
    accounts.push({
      address: hexToBytes(address),
      nonce: contract === undefined ? 0n : 1n,
      balanceAcoin: balances[address] ?? 0n,
      code: contract === undefined ? EMPTY_BYTES : hexToBytes(contract),
    })
  }
  return { accounts, validators: [], maxValidators: 50 }
}

/** Logs in hex, for comparisons. */
export function hexLogs(logs: readonly Log[]): { address: Hex; topics: Hex[]; data: Hex }[] {
  return logs.map(({ address, topics, data }) => ({
    address: bytesToHex(address),
    topics: topics.map(bytesToHex),
    data: bytesToHex(data),
  }))
}

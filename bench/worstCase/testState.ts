import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGenesis } from '../../src/chain/genesis/createGenesis.ts'
import type { Genesis } from '../../src/chain/genesis/genesisSchema.ts'
import { applyGenesis, genesisStateOf } from '../../src/execution/genesisBlock.ts'
import type { Address } from '../../src/primitives/address.ts'
import { bigIntToBytes, concatBytes } from '../../src/primitives/bytes.ts'
import { sha256 } from '../../src/primitives/hash.ts'
import { Journal } from '../../src/state/journal.ts'
import { StateStore } from '../../src/state/stateStore.ts'
import { WriteBatch } from '../../src/storage/batch.ts'
import { Database } from '../../src/storage/database.ts'

/** Factors that spread indexes over all addresses and slots: neighbours are nowhere near in the database. */
export const ACCOUNT_FACTOR = `0x${'9e3779b97f4a7c15'.repeat(2)}f39cc061`
export const CONTRACT_FACTOR = `0x${'bf58476d1ce4e5b9'.repeat(2)}94d049bb`
export const DELEGATION_FACTOR = `0x${'c2b2ae3d27d4eb4f'.repeat(2)}165667b1`
export const SLOT_FACTOR = `0x${'d6e8feb86659fd93'.repeat(4)}`

/** Account with very many slots. */
export const HOARDER: Address = new Uint8Array(20).fill(0xd0)
/** Bytes of the largest contract (EIP-170). */
export const MAX_CODE = 24_576

const GENESIS_MS = 1_700_000_000_000
const VALIDATORS = 20
const BLOCK = 20_000
const CODES_IN_BLOCK = 500

interface StateSize {
  /** with a balance and no code */
  readonly accounts: number
  /** of {@link HOARDER} */
  readonly slots: number
  /** with different code of {@link MAX_CODE} bytes each, and as many delegations to them (EIP-7702) */
  readonly contracts: number
}

interface TestState {
  readonly store: StateStore
  close(): Promise<void>
}

/**
 * Opens a state in a LevelDB database. `home` keeps it for further runs of the same sizes;
 * otherwise it is temporary.
 */
export async function openTestState(size: StateSize, home: string | undefined): Promise<TestState> {
  const name = `native-state-${size.accounts}-${size.slots}-${size.contracts}`
  const location = home === undefined ? mkdtempSync(join(tmpdir(), 'coind-worst-')) : join(home, name)
  const isBuilt = home !== undefined && existsSync(location)
  mkdirSync(location, { recursive: true })
  let database = await Database.open(location)
  if (!isBuilt) {
    const store = new StateStore(database)
    await build(database, store, size)
    await store.close()
    await database.close()
    // opened anew: the new data is no longer in the caches
    database = await Database.open(location)
  }
  const store = new StateStore(database)
  return {
    store,
    close: async () => {
      await store.close()
      await database.close()
      if (home === undefined) rmSync(location, { recursive: true })
    },
  }
}

/** Address of account, contract or delegation `index` by its factor. */
function addressAt(factor: string, index: number): Address {
  return bigIntToBytes(BigInt.asUintN(160, BigInt(factor) * BigInt(index)), 20)
}

function slotAt(index: number): Uint8Array {
  return bigIntToBytes(BigInt.asUintN(256, BigInt(SLOT_FACTOR) * BigInt(index)), 32)
}

/** Returns STOP, then jump destinations to the end, except for the index that makes it different from the others. */
function bigCode(index: number): Uint8Array {
  const code = new Uint8Array(MAX_CODE).fill(0x5b)
  code[0] = 0
  new DataView(code.buffer).setUint32(MAX_CODE - 4, index)
  return code
}

/** Returns the native layer of a new chain. */
function nativeGenesis(): Genesis {
  const [first, ...others] = Array.from({ length: VALIDATORS }, (_, index) => ({
    operator: new Uint8Array(20).fill(index + 1),
    selfDelegationAcoin: 10n ** 20n,
    consensusPublicKey: sha256(Uint8Array.of(index)),
    moniker: `validator ${index}`,
  }))
  return createGenesis({
    ...first!,
    genesisTimeMs: GENESIS_MS,
    chainId: 'coin_76287-1',
    wallet: first!.operator,
    otherValidators: others,
  })
}

async function build(database: Database, store: StateStore, size: StateSize): Promise<void> {
  const block = async (first: number, end: number, change: (world: Journal, index: number) => void): Promise<void> => {
    const world = new Journal(store.reader())
    for (let index = first; index < end; index++) change(world, index)
    const pending = await store.apply(world.changes(), store.height + 1)
    const batch = new WriteBatch()
    pending.write(batch)
    await database.write(batch, { sync: false })
    pending.publish()
  }
  const blocks = async (count: number, most: number, change: (world: Journal, index: number) => void) => {
    for (let first = 1; first <= count; first += most) await block(first, Math.min(count + 1, first + most), change)
  }
  await block(1, 2, (world) => applyGenesis(world, genesisStateOf(nativeGenesis())))
  await blocks(size.accounts, BLOCK, (world, index) => world.setBalance(addressAt(ACCOUNT_FACTOR, index), 1n))
  await blocks(size.slots, BLOCK, (world, index) => world.setStorage(HOARDER, slotAt(index), Uint8Array.of(1)))
  await blocks(size.contracts, CODES_IN_BLOCK, (world, index) => {
    const contract = addressAt(CONTRACT_FACTOR, index)
    world.setCode(contract, bigCode(index))
    world.setCode(addressAt(DELEGATION_FACTOR, index), concatBytes(Uint8Array.of(0xef, 1, 0), contract))
  })
}

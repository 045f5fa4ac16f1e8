import { includesFork } from '../../chain/genesis/hardfork.ts'
import { type Address, ZERO_ADDRESS } from '../../primitives/address.ts'
import { bigIntToBytes, bytesKey, bytesToHex, keyBytes, padLeft } from '../../primitives/bytes.ts'
import { EMPTY_CODE_HASH } from '../../primitives/hash.ts'
import type { WorldState } from '../../state/world.ts'
import { codeDelegationTarget } from '../authorization.ts'
import { create2Address, createAddress } from '../contractAddress.ts'
import { OP } from '../opcodes.ts'
import type { OpcodeStep, Tracer, TransactionStart } from '../tracer.ts'
import { paddedMemory } from './paddedMemory.ts'
import {
  quantity,
  readSwitch,
  type TraceBudget,
  type TraceCollector,
  type TraceContext,
  TraceError,
  type TracerConfig,
} from './traceCollector.ts'

/** An account as it was when the transaction first touched it. */
interface Snapshot {
  readonly balance: bigint
  readonly nonce: bigint
  readonly code: Uint8Array
  readonly codeHash: string
  /** 32-byte values by slot, both in hex */
  readonly storage: Map<string, string>
}

type JsonAccount = Record<string, unknown>

const EMPTY_HASH = bytesToHex(EMPTY_CODE_HASH)
const ZERO_WORD = bytesToHex(new Uint8Array(32))
const ADDRESS_MASK = (1n << 160n) - 1n
const ACCOUNT_LENGTH = 150
const SLOT_LENGTH = 138

/** The slot is on top of the stack. */
const SLOT_OPCODES = new Set<number>([OP.SLOAD, OP.SSTORE])
/** The account is on top of the stack. */
const ACCOUNT_OPCODES = new Set<number>([OP.BALANCE, OP.EXTCODESIZE, OP.EXTCODECOPY, OP.EXTCODEHASH, OP.SELFDESTRUCT])
/** The account is second on the stack. */
const CALL_OPCODES = new Set<number>([OP.CALL, OP.CALLCODE, OP.DELEGATECALL, OP.STATICCALL])

/**
 * Creates geth's prestateTracer: the accounts and slots that a transaction touches as they were
 * before, or with `diffMode` what it changed in them. Options: `disableCode`, `disableStorage`,
 * `includeEmpty`. What a stateful precompile reads or changes in accounts is shown as if opcodes had
 * done so. Entries of native modules are not slots, and not shown.
 */
export function createPrestateTracer(config: TracerConfig, context: TraceContext): TraceCollector {
  const isDiff = readSwitch(config, 'diffMode')
  const includeEmpty = readSwitch(config, 'includeEmpty')
  if (isDiff && includeEmpty) throw new TraceError('cannot use diffMode with includeEmpty')
  const shows = { code: !readSwitch(config, 'disableCode'), storage: !readSwitch(config, 'disableStorage') }
  const state = new TouchedState(context, shows)
  let answer: unknown
  const tracer: Tracer = {
    onTransactionStart: (start) => state.start(start),
    onOpcode: (step) => state.step(step),
    onAccess: (account, slot) => state.access(account, slot),
    onTransactionEnd: () => {
      answer = isDiff ? state.difference() : state.before(includeEmpty)
    },
  }
  return {
    tracer,
    result() {
      state.budget.check()
      return answer ?? (isDiff ? { post: {}, pre: {} } : {})
    },
  }
}

class TouchedState {
  readonly budget: TraceBudget
  readonly #fork: TraceContext['fork']
  readonly #shows: { readonly code: boolean; readonly storage: boolean }
  readonly #accounts = new Map<string, Snapshot>()
  readonly #created = new Set<string>()
  readonly #deleted = new Set<string>()
  #world: WorldState | undefined

  constructor({ fork, budget }: TraceContext, shows: { readonly code: boolean; readonly storage: boolean }) {
    this.budget = budget
    this.#fork = fork
    this.#shows = shows
  }

  start({ world, from, to, coinbase, authorities }: TransactionStart): void {
    this.#world = world
    if (to === undefined) this.#create(createAddress(from, world.getNonce(from)))
    else this.#touchCallee(to)
    for (const address of [from, coinbase, ...authorities]) this.#touch(address)
  }

  step({ op, stack, memory, address, error }: OpcodeStep): void {
    const top = stack.at(-1)
    if (error !== undefined) return
    if (op === OP.CREATE) {
      this.#create(createAddress(address, this.#world?.getNonce(address) ?? 0n))
    } else if (top === undefined) {
      return
    } else if (SLOT_OPCODES.has(op)) {
      this.#touchSlot(address, bigIntToBytes(top, 32))
    } else if (ACCOUNT_OPCODES.has(op)) {
      this.#touch(toAddress(top))
      if (op === OP.SELFDESTRUCT) this.#destroy(address)
    } else if (CALL_OPCODES.has(op) && stack.length >= 5) {
      this.#touchCallee(toAddress(stack.at(-2)!))
    } else if (op === OP.CREATE2 && stack.length >= 4) {
      const initCode = paddedMemory(memory, stack.at(-2)!, stack.at(-3)!)
      if (initCode !== undefined) this.#create(create2Address(address, bigIntToBytes(stack.at(-4)!, 32), initCode))
    }
  }

  access(account: Address, slot: Uint8Array | undefined): void {
    if (slot === undefined) this.#touch(account)
    else this.#touchSlot(account, slot)
  }

  before(includeEmpty: boolean): Record<string, JsonAccount> {
    const shown = [...this.#accounts].filter(([, account]) => includeEmpty || !isEmpty(account))
    return sorted(shown.map(([key, account]) => [hexOf(key), this.#format(account, account.storage)]))
  }

  difference(): { post: Record<string, JsonAccount>; pre: Record<string, JsonAccount> } {
    const pre: [string, JsonAccount][] = []
    const post: [string, JsonAccount][] = []
    for (const [key, account] of this.#accounts) {
      const isDeleted = this.#deleted.has(key)
      const slots = isDeleted ? account.storage : new Map<string, string>()
      const changes = isDeleted ? {} : this.#changes(keyBytes(key), account, slots)
      if (!isDeleted && changes === undefined) continue
      if (!isEmpty(account)) pre.push([hexOf(key), this.#format(account, slots)])
      if (!isDeleted && changes !== undefined) post.push([hexOf(key), changes])
    }
    return { post: sorted(post), pre: sorted(pre) }
  }

  /** Returns the changes; undefined when nothing has changed. Adds the previous values of changed slots to `before`. */
  #changes(address: Address, account: Snapshot, before: Map<string, string>): JsonAccount | undefined {
    const world = this.#world!
    const now = snapshotOf(world, address)
    const changes: JsonAccount = {}
    if (now.balance !== account.balance) changes.balance = quantity(now.balance)
    const isCodeChanged = now.codeHash !== account.codeHash
    if (isCodeChanged && this.#shows.code) changes.code = bytesToHex(now.code)
    if (isCodeChanged) changes.codeHash = now.codeHash
    if (now.nonce !== account.nonce) changes.nonce = Number(now.nonce)
    const after = new Map<string, string>()
    for (const [slot, value] of account.storage) {
      const current = bytesToHex(padLeft(world.getStorage(address, bytesOfHex(slot)), 32))
      if (current === value) continue
      if (value !== ZERO_WORD) before.set(slot, value)
      after.set(slot, current)
    }
    if (Object.keys(changes).length === 0 && after.size === 0) return undefined
    const set = [...after].filter(([, value]) => value !== ZERO_WORD)
    if (set.length > 0) changes.storage = sorted(set)
    return changes
  }

  #format({ balance, nonce, code, codeHash }: Snapshot, storage: ReadonlyMap<string, string>): JsonAccount {
    return {
      balance: quantity(balance),
      ...(code.length > 0 && this.#shows.code ? { code: bytesToHex(code) } : {}),
      ...(codeHash === EMPTY_HASH ? {} : { codeHash }),
      ...(nonce === 0n ? {} : { nonce: Number(nonce) }),
      ...(storage.size === 0 ? {} : { storage: sorted(storage) }),
    }
  }

  #touchCallee(address: Address): void {
    this.#touch(address)
    if (this.#world === undefined || !includesFork(this.#fork, 'prague')) return
    const target = codeDelegationTarget(this.#world.getCode(address))
    if (target !== undefined) this.#touch(target)
  }

  #touch(address: Address): Snapshot | undefined {
    const key = bytesKey(address)
    const known = this.#accounts.get(key)
    if (known !== undefined || this.#world === undefined) return known
    const account = snapshotOf(this.#world, address)
    if (!this.budget.spend(ACCOUNT_LENGTH + (this.#shows.code ? 2 * account.code.length : 0))) return undefined
    this.#accounts.set(key, account)
    return account
  }

  #touchSlot(address: Address, slot: Uint8Array): void {
    if (!this.#shows.storage || this.#world === undefined) return
    const storage = this.#touch(address)?.storage
    const name = bytesToHex(slot)
    if (storage === undefined || storage.has(name) || !this.budget.spend(SLOT_LENGTH)) return
    storage.set(name, bytesToHex(padLeft(this.#world.getStorage(address, slot), 32)))
  }

  #create(address: Address): void {
    this.#touch(address)
    this.#created.add(bytesKey(address))
  }

  /** Notes a self-destruct. From Cancun on, only an account that the transaction created is deleted (EIP-6780). */
  #destroy(address: Address): void {
    const key = bytesKey(address)
    if (!includesFork(this.#fork, 'cancun') || this.#created.has(key)) this.#deleted.add(key)
  }
}

function snapshotOf(world: WorldState, address: Address): Snapshot {
  return {
    balance: world.getBalance(address),
    nonce: world.getNonce(address),
    code: world.getCode(address),
    codeHash: bytesToHex(world.getCodeHash(address) ?? EMPTY_CODE_HASH),
    storage: new Map(),
  }
}

function isEmpty({ balance, nonce, code }: Snapshot): boolean {
  return balance === 0n && nonce === 0n && code.length === 0
}

function toAddress(word: bigint): Address {
  return word === 0n ? ZERO_ADDRESS : bigIntToBytes(word & ADDRESS_MASK, 20)
}

function bytesOfHex(hex: string): Uint8Array {
  return bigIntToBytes(BigInt(hex), 32)
}

function hexOf(key: string): string {
  return bytesToHex(keyBytes(key))
}

function sorted<V>(entries: Iterable<readonly [string, V]>): Record<string, V> {
  return Object.fromEntries([...entries].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
}

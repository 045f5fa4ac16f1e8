import { type Address, toChecksumAddress } from '../../src/primitives/address.ts'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import type { NodeClient } from '../node/nodeClient.ts'
import { refusalState } from './fetchTraces.ts'
import type { StateChanges } from './shapes.ts'
import { TRACE_STATES } from './tables.ts'

/** An account as prestateTracer shows it (geth's documentation of built-in tracers). */
interface TracedAccount {
  readonly balance?: string
  readonly nonce?: number
  readonly code?: string
  readonly storage?: Readonly<Record<string, string>>
}

/** Most accounts, and most slots in all, that are shown. */
const MAX_ACCOUNTS = 200
const MAX_SLOTS = 300
const TRACER = { tracer: 'prestateTracer', tracerConfig: { diffMode: true }, timeout: '10s' } as const
const ZERO_WORD = `0x${'0'.repeat(64)}`

/**
 * Asks the node which accounts and storage a transaction changed.
 * @param hash of an EVM transaction of the index: nothing else is asked for
 * @throws NodeError when the node does not answer for now
 */
export async function fetchStateChanges(node: Pick<NodeClient, 'ethereum'>, hash: string): Promise<StateChanges> {
  let answer: unknown
  try {
    ;[answer] = await node.ethereum([{ method: 'debug_traceTransaction', params: [hash, TRACER] }])
  } catch (error) {
    return { state: STATE_NAMES[refusalState(error)]!, accounts: [] }
  }
  return readStateChanges(answer) ?? { state: 'refused', accounts: [] }
}

const STATE_NAMES: Readonly<Record<number, StateChanges['state']>> = {
  [TRACE_STATES.notKept]: 'notKept',
  [TRACE_STATES.refused]: 'refused',
  [TRACE_STATES.unsupported]: 'unsupported',
}

/** Reads an answer of prestateTracer with `diffMode`; undefined when it has another form. */
export function readStateChanges(answer: unknown): StateChanges | undefined {
  const { pre, post } = (answer ?? {}) as { readonly pre?: unknown; readonly post?: unknown }
  if (!isAccounts(pre) || !isAccounts(post)) return undefined
  const names = [...new Set([...Object.keys(pre), ...Object.keys(post)])].sort()
  let slotsLeft = MAX_SLOTS
  let isCut = names.length > MAX_ACCOUNTS
  const accounts = names.slice(0, MAX_ACCOUNTS).map((name) => {
    const [before, after] = [pre[name] ?? {}, post[name]]
    const slots = slotChanges(before.storage ?? {}, after?.storage ?? {})
    isCut ||= slots.length > slotsLeft
    const storage = slots.slice(0, slotsLeft)
    slotsLeft -= storage.length
    return { ...accountChanges(hexToBytes(name), before, after), storage }
  })
  return { state: isCut ? 'cut' : 'kept', accounts }
}

/** @param after what is different; undefined: the account is gone */
function accountChanges(address: Address, before: TracedAccount, after: TracedAccount | undefined) {
  const isDeleted = after === undefined
  const changed = <T>(was: T, is: T | undefined): { before: T; after: T } | null =>
    is === undefined || is === was ? null : { before: was, after: is }
  const balance = (account: TracedAccount | undefined) =>
    account?.balance === undefined ? undefined : BigInt(account.balance).toString()
  const size = (account: TracedAccount | undefined) =>
    account?.code === undefined ? undefined : account.code.length / 2 - 1
  return {
    address: toChecksumAddress(address),
    balance: changed(balance(before) ?? '0', isDeleted ? '0' : balance(after)),
    nonce: changed(before.nonce ?? 0, isDeleted ? 0 : after.nonce),
    codeSize: changed(size(before) ?? 0, isDeleted ? 0 : size(after)),
    isDeleted,
  }
}

function slotChanges(before: Readonly<Record<string, string>>, after: Readonly<Record<string, string>>) {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .sort()
    .map((slot) => ({ slot, before: before[slot] ?? ZERO_WORD, after: after[slot] ?? ZERO_WORD }))
}

function isAccounts(value: unknown): value is Readonly<Record<string, TracedAccount>> {
  return isObject(value) && Object.entries(value).every(([name, account]) => isAddress(name) && isAccount(account))
}

function isAccount(value: unknown): boolean {
  if (!isObject(value)) return false
  const { balance = '0x0', nonce = 0, code = '0x', storage = {} } = value
  return (
    isHex(balance, /^0x[0-9a-f]{1,64}$/) &&
    Number.isSafeInteger(nonce) &&
    isHex(code, /^0x([0-9a-f]{2})*$/) &&
    isObject(storage) &&
    Object.entries(storage).every(([slot, word]) => isWord(slot) && isWord(word))
  )
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function isHex(value: unknown, pattern: RegExp): boolean {
  return typeof value === 'string' && pattern.test(value)
}

function isAddress(value: unknown): boolean {
  return isHex(value, /^0x[0-9a-f]{40}$/)
}

function isWord(value: unknown): boolean {
  return isHex(value, /^0x[0-9a-f]{64}$/)
}

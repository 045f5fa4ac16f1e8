import type { ValueTransfer } from '../../chain/block/entries.ts'
import { type Log, logsBloom } from '../../chain/block/receipt.ts'
import type { AppliedTransaction } from '../../evm/transition.ts'
import type { Address } from '../../primitives/address.ts'
import { bytesKeyOf } from '../../primitives/bytes.ts'
import type { AdoptedChanges, Journal } from '../../state/journal.ts'
import { VESTING_FILTER_KEY } from '../../state/vesting.ts'
import { FLAGS, KEY_BYTES, NoRoom, type TableResult, type VersionTable } from './versionTable.ts'

/**
 * An EVM transaction that was executed before its turn, on a guessed state; records of the table
 * have its reads and writes.
 */
interface Speculation {
  readonly outcome: SpeculatedOutcome
  /** the block's precompile gas that it used; no call hit the limit */
  readonly precompileGas: bigint
  /** who called and was called, where that is indexed */
  readonly parties: readonly Address[]
}

/** Outcome of a transaction that destroyed no coins and emitted no native events. */
type SpeculatedOutcome = Pick<
  AppliedTransaction,
  'status' | 'gasUsed' | 'effectiveGasPrice' | 'logs' | 'transfers' | 'createdAddress' | 'fees' | 'blobGasUsed'
>

/** The parts of a speculation that the executor uses. */
interface AdoptedSpeculation extends Omit<Speculation, 'outcome'> {
  readonly outcome: SpeculatedOutcome & { readonly logsBloom: Uint8Array | undefined }
}

/**
 * Makes the changes of a speculation if everything that it read has the same value in this world, and the block has the precompile gas that it
 * used. Then they and the outcome are those of an execution here and now, which depends on nothing else but the block, and on the gas
 * that the block has left for the whole transaction.
 * @returns undefined when it is not so: then nothing has changed
 */
export function adoptSpeculation(
  result: TableResult,
  world: Journal,
  precompileGasLeft: bigint,
): AdoptedSpeculation | undefined {
  const { table } = result
  const input = new Reader(table, result.rest)
  const precompileGas = input.integer()
  if (precompileGas > precompileGasLeft) return undefined
  // It paid from no vesting account of the parent's state; since then there are others.
  if (!world.native.isStored(VESTING_FILTER_KEY)) return undefined
  const changes = changesIfCurrent(result, world)
  if (changes === undefined) return undefined
  world.adopt(changes)
  return { precompileGas, ...readOutcome(input) }
}

/**
 * Returns the writes as changes of a journal; undefined when a value that was read differs in this
 * world.
 */
function changesIfCurrent({ table, count, records }: TableResult, world: Journal): AdoptedChanges | undefined {
  const accounts: AdoptedChanges['accounts'][number][] = []
  const slots: AdoptedChanges['slots'][number][] = []
  const codes: AdoptedChanges['codes'][number][] = []
  const { bytes } = table
  let at = records
  /** of the account whose records are read, and where its address is */
  let key = ''
  let keyOf = 0
  for (let i = 0; i < count; i++) {
    const { flags, keyAt, keyLength, writtenAt, writtenEnd, readAt, readEnd } = table.record(at)
    at = table.next(at)
    if (keyLength === KEY_BYTES.code) {
      codes.push({ key: bytesKeyOf(bytes, keyAt, writtenAt), code: bytes.slice(writtenAt, writtenEnd) })
      continue
    }
    const addressEnd = keyAt + KEY_BYTES.account
    // The slots of an account follow it.
    if (keyOf === 0 || !table.hasSameAddress(keyOf, keyAt)) key = bytesKeyOf(bytes, keyAt, addressEnd)
    keyOf = keyAt
    const isVersion = (flags & FLAGS.isVersion) !== 0
    const isWritten = (flags & FLAGS.written) !== 0
    if (keyLength === KEY_BYTES.slot) {
      const slot = bytesKeyOf(bytes, addressEnd, writtenAt)
      const base = isVersion || isWritten ? bytes.slice(readAt, readEnd) : undefined
      if (isVersion ? !world.isSlot(key, slot, base!) : !world.isStoredSlot(key, slot)) return undefined
      if (isWritten) {
        slots.push({ key, slot, stored: isVersion ? undefined : base, value: bytes.slice(writtenAt, writtenEnd) })
      }
      continue
    }
    if ((flags & FLAGS.slotCount) !== 0) {
      if (!world.isStoredSlotCount(key)) return undefined
      continue
    }
    const base = isVersion || isWritten ? table.accountAt(readAt, readEnd) : undefined
    if (isVersion ? !world.isAccount(key, base) : !world.isStoredAccount(key)) return undefined
    if (isWritten) {
      accounts.push({ key, stored: isVersion ? undefined : base, account: table.accountAt(writtenAt, writtenEnd) })
    }
  }
  return { accounts, slots, codes }
}

const STATUSES: readonly AppliedTransaction['status'][] = ['success', 'revert', 'failure']

/** Writes all but reads and changes to the memory of results from `at` on. @returns the offset after it @throws NoRoom */
export function writeSpeculation(
  { outcome, precompileGas, parties }: Speculation,
  table: Pick<VersionTable, 'bytes' | 'view'>,
  at: number,
  end: number,
): number {
  const out = new Writer(table, at, end)
  out.integer(precompileGas)
  out.byte(STATUSES.indexOf(outcome.status))
  for (const amount of [outcome.gasUsed, outcome.effectiveGasPrice, outcome.blobGasUsed]) {
    out.integer(amount)
  }
  const { fees, createdAddress } = outcome
  for (const amount of [fees.baseFeeAcoin, fees.tipAcoin, fees.blobFeeAcoin]) out.integer(amount)
  out.byte(createdAddress === undefined ? 0 : 1)
  if (createdAddress !== undefined) out.raw(createdAddress)
  out.number(outcome.logs.length)
  if (outcome.logs.length > 0) out.raw(logsBloom(outcome.logs))
  for (const { address, topics, data } of outcome.logs) {
    out.raw(address)
    out.byte(topics.length)
    for (const topic of topics) out.raw(topic)
    out.bytes(data)
  }
  out.number(outcome.transfers.length)
  for (const { from, to, amountAcoin } of outcome.transfers) {
    out.raw(from)
    out.raw(to)
    out.integer(amountAcoin)
  }
  out.number(parties.length)
  for (const address of parties) out.raw(address)
  return out.at
}

/** All bytes are copies. */
function readOutcome(input: Reader): Pick<AdoptedSpeculation, 'outcome' | 'parties'> {
  const status = STATUSES[input.byte()]!
  const gasUsed = input.integer()
  const effectiveGasPrice = input.integer()
  const blobGasUsed = input.integer()
  const fees = { baseFeeAcoin: input.integer(), tipAcoin: input.integer(), blobFeeAcoin: input.integer() }
  const createdAddress = input.byte() === 0 ? undefined : input.raw(ADDRESS_BYTES)
  const logs: Log[] = []
  const logCount = input.number()
  const bloom = logCount === 0 ? undefined : input.raw(BLOOM_BYTES)
  for (let count = logCount; count > 0; count--) {
    const address = input.raw(ADDRESS_BYTES)
    const topics: Uint8Array[] = []
    for (let topic = input.byte(); topic > 0; topic--) topics.push(input.raw(WORD_BYTES))
    logs.push({ address, topics, data: input.bytes() })
  }
  const transfers: ValueTransfer[] = []
  for (let count = input.number(); count > 0; count--) {
    transfers.push({ from: input.raw(ADDRESS_BYTES), to: input.raw(ADDRESS_BYTES), amountAcoin: input.integer() })
  }
  const parties: Address[] = []
  for (let count = input.number(); count > 0; count--) parties.push(input.raw(ADDRESS_BYTES))
  const outcome = {
    status,
    gasUsed,
    effectiveGasPrice,
    blobGasUsed,
    fees,
    createdAddress,
    logs,
    transfers,
    logsBloom: bloom,
  }
  return { outcome, parties }
}

/** Room that a number or the length of bytes takes. */
const NUMBER_BYTES = 4
/** An integer is a number of words of 64 bits, and these, the least significant first. */
const WORD64_BYTES = 8
const WORD64 = 64n
const BLOOM_BYTES = 256
const ADDRESS_BYTES = 20
const WORD_BYTES = 32

class Writer {
  readonly #out: Uint8Array
  readonly #view: DataView
  readonly #end: number
  at: number

  constructor({ bytes, view }: Pick<VersionTable, 'bytes' | 'view'>, at: number, end: number) {
    this.#out = bytes
    this.#view = view
    this.at = at
    this.#end = end
  }

  byte(value: number): void {
    this.#reserve(1)
    this.#out[this.at++] = value
  }

  number(value: number): void {
    this.#reserve(NUMBER_BYTES)
    this.#view.setUint32(this.at, value, true)
    this.at += NUMBER_BYTES
  }

  raw(value: Uint8Array): void {
    this.#reserve(value.length)
    this.#out.set(value, this.at)
    this.at += value.length
  }

  bytes(value: Uint8Array): void {
    this.number(value.length)
    this.raw(value)
  }

  integer(value: bigint): void {
    const start = this.at
    this.byte(0)
    for (let rest = value; rest > 0n; rest >>= WORD64) {
      this.#reserve(WORD64_BYTES)
      this.#view.setBigUint64(this.at, rest, true)
      this.at += WORD64_BYTES
      this.#out[start]!++
    }
  }

  #reserve(length: number): void {
    if (this.at + length > this.#end) throw new NoRoom()
  }
}

class Reader {
  readonly #input: Uint8Array
  readonly #view: DataView
  #at: number

  constructor({ bytes, view }: Pick<VersionTable, 'bytes' | 'view'>, at: number) {
    this.#input = bytes
    this.#view = view
    this.#at = at
  }

  byte(): number {
    return this.#input[this.#at++]!
  }

  number(): number {
    this.#at += NUMBER_BYTES
    return this.#view.getUint32(this.#at - NUMBER_BYTES, true)
  }

  raw(length: number): Uint8Array {
    this.#at += length
    return this.#input.slice(this.#at - length, this.#at)
  }

  bytes(): Uint8Array {
    return this.raw(this.number())
  }

  integer(): bigint {
    const words = this.byte()
    this.#at += words * WORD64_BYTES
    let value = 0n
    for (let i = 1; i <= words; i++) {
      const word = this.#view.getBigUint64(this.#at - i * WORD64_BYTES, true)
      value = i === 1 ? word : (value << WORD64) | word
    }
    return value
  }
}

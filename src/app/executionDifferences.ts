import type { BlockEvents, NativeEvent, NativeResult, ValueTransfer } from '../chain/entries.ts'
import type { Log } from '../chain/receipt.ts'
import { bytesToHex } from '../primitives/bytes.ts'
import type { StateChanges } from '../state/changes.ts'
import type { EntryResult } from './executionResults.ts'

/** Longer values are cut in reports. */
const LONGEST_VALUE = 400

type Facts = ReadonlyMap<string, string>

/** What two executions of a transaction do not agree on, one line each; none when they agree. */
export function differingResults(one: EntryResult, other: EntryResult): string[] {
  return differences(resultFacts(one), resultFacts(other))
}

/** What two executions of a block made of the same state, as far as it is not the same. */
export function differingChanges(one: StateChanges, other: StateChanges): string[] {
  return differences(changeFacts(one), changeFacts(other))
}

/** What two executions of a block said around its entries, as far as it is not the same. */
export function differingEvents(one: BlockEvents, other: BlockEvents): string[] {
  return differences(eventFacts(one), eventFacts(other))
}

function differences(one: Facts, other: Facts): string[] {
  const lines: string[] = []
  for (const key of new Set([...one.keys(), ...other.keys()])) {
    const [first, second] = [one.get(key), other.get(key)]
    if (first !== second) lines.push(`${key}: ${shown(first)} and ${shown(second)}`)
  }
  return lines
}

function shown(value: string | undefined): string {
  if (value === undefined) return 'nothing'
  return value.length > LONGEST_VALUE ? `${value.slice(0, LONGEST_VALUE)}…` : value
}

function resultFacts(result: EntryResult): Facts {
  if (result.kind === 'skipped') return new Map([['skipped', result.reason]])
  if (result.kind === 'native') return nativeFacts(result.result)
  const { status, gasUsed, logs, contractAddress } = result.receipt
  return new Map([
    ['status', String(status)],
    ['gas used', String(gasUsed)],
    ['contract address', contractAddress === undefined ? 'none' : bytesToHex(contractAddress)],
    ['logs', logs.map(logText).join(' ')],
    ['transfers', result.transfers.map(transferText).join(' ')],
    ['events', result.events.map(eventText).join(' ')],
  ])
}

function eventFacts({ begin, end }: BlockEvents): Facts {
  return new Map([
    ['events of its start', begin.map(eventText).join(' ')],
    ['events of its end', end.map(eventText).join(' ')],
  ])
}

function nativeFacts({ code, codespace, log, data, gasUsed, events }: NativeResult): Facts {
  return new Map([
    ['code', `${codespace} ${code} ${log}`],
    ['data', bytesToHex(data)],
    ['gas used', String(gasUsed)],
    ['events', events.map(eventText).join(' ')],
  ])
}

function transferText({ from, to, amountAcoin }: ValueTransfer): string {
  return `${bytesToHex(from)}>${bytesToHex(to)}:${amountAcoin}`
}

function eventText({ type, attributes }: NativeEvent): string {
  return `${type}[${attributes.map(({ key, value }) => `${key}=${value}`).join()}]`
}

function logText({ address, topics, data }: Log): string {
  return `${bytesToHex(address)}[${topics.map(bytesToHex).join()}]${bytesToHex(data)}`
}

function changeFacts({ accounts, codes, native }: StateChanges): Facts {
  const facts = new Map<string, string>()
  for (const { address, current, wiped, slots } of accounts) {
    const name = `account ${bytesToHex(address)}`
    if (current === undefined) {
      facts.set(name, 'deleted')
    } else {
      facts.set(`${name} nonce`, String(current.nonce))
      facts.set(`${name} balance`, String(current.balance))
      facts.set(`${name} code hash`, bytesToHex(current.codeHash))
    }
    if (wiped) facts.set(`${name} storage`, 'wiped')
    for (const { slot, current: value } of slots) facts.set(`${name} slot ${bytesToHex(slot)}`, bytesToHex(value))
  }
  for (const { hash, code } of codes) facts.set(`code ${bytesToHex(hash)}`, bytesToHex(code))
  for (const { key, current } of native) {
    facts.set(`native ${bytesToHex(key)}`, current === undefined ? 'deleted' : bytesToHex(current))
  }
  return facts
}

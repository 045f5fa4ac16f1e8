import type { ValueTransfer } from '../../src/chain/block/entries.ts'
import type { Log } from '../../src/chain/block/receipt.ts'
import { totalBurnt } from '../../src/evm/coinMovements.ts'
import { isStandardPrecompile } from '../../src/evm/precompileAddresses.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import type { FuzzCase } from './fuzzCase.ts'
import type { CaseResult, MessageResult } from './runCase.ts'

/** What two runs of a case do not agree on: `what: first's ≠ second's`, one line each; none when they agree. */
export function compareResults(fuzzCase: FuzzCase, first: CaseResult, second: CaseResult): string[] {
  const differences: string[] = []
  fuzzCase.messages.forEach(({ to }, index) => {
    const hasOwnMessages = to !== undefined && isStandardPrecompile(to, fuzzCase.fork)
    const one = factsOf(first.messages[index]!, hasOwnMessages)
    const other = factsOf(second.messages[index]!, hasOwnMessages)
    differences.push(...differingLines(one, other).map((line) => `message ${index}: ${line}`))
  })
  differences.push(...differingLines(stateFacts(first), stateFacts(second)))
  return differences
}

type Facts = ReadonlyMap<string, string>

function differingLines(first: Facts, second: Facts): string[] {
  const lines: string[] = []
  for (const key of new Set([...first.keys(), ...second.keys()])) {
    const [one, other] = [first.get(key), second.get(key)]
    if (one !== other) lines.push(`${key}: ${one ?? 'nothing'} ≠ ${other ?? 'nothing'}`)
  }
  return lines
}

/** @param hasOwnMessages a standard precompile ran, whose messages for a wrong input are the engine's own */
function factsOf({ outcome, run }: MessageResult, hasOwnMessages: boolean): Facts {
  const facts = new Map<string, string>()
  if (run !== undefined) {
    facts.set('status', hasOwnMessages && run.status === 'revert' ? 'failure' : run.status)
    if (!hasOwnMessages) facts.set('failure', run.failure?.message ?? 'none')
    facts.set('gas used by the engine', String(run.gasUsed))
    facts.set('refund', String(run.gasRefund))
    facts.set('created', run.createdAddress === undefined ? 'nothing' : bytesToHex(run.createdAddress))
    facts.set('output', bytesToHex(run.output))
  }
  if (outcome.kind === 'skipped') {
    facts.set('skipped', outcome.reason)
    return facts
  }
  facts.set('gas used', String(outcome.gasUsed))
  facts.set('burnt', String(totalBurnt(outcome.burns)))
  facts.set('logs', outcome.logs.map(logText).join(' '))
  facts.set('transfers', outcome.transfers.map(transferText).join(' '))
  return facts
}

function logText({ address, topics, data }: Log): string {
  return `${bytesToHex(address)}[${topics.map(bytesToHex).join()}]${bytesToHex(data)}`
}

function transferText({ from, to, amountAcoin }: ValueTransfer): string {
  return `${bytesToHex(from)}>${bytesToHex(to)}:${amountAcoin}`
}

function stateFacts({ changes }: CaseResult): Facts {
  const facts = new Map<string, string>()
  for (const { address, current, wiped, slots } of changes.accounts) {
    const name = `account ${bytesToHex(address)}`
    const text =
      current === undefined ? 'deleted' : `${current.nonce} ${current.balance} ${bytesToHex(current.codeHash)}`
    facts.set(name, wiped ? `${text} wiped` : text)
    for (const { slot, current: value } of slots) facts.set(`${name} slot ${bytesToHex(slot)}`, bytesToHex(value))
  }
  for (const { hash, code } of changes.codes) facts.set(`code ${bytesToHex(hash)}`, bytesToHex(code))
  for (const { key, current } of changes.native) {
    facts.set(`native ${bytesToHex(key)}`, current === undefined ? 'deleted' : bytesToHex(current))
  }
  return facts
}

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { NO_BLOCK_EVENTS, type StoredEntry } from '../../../../src/chain/block/entries.ts'
import { entriesOf } from '../../../../src/chain/store/blockParts.ts'
import { countExecuted, decodeResults, encodeResults } from '../../../../src/chain/store/storedResults.ts'
import { runs } from '../../../propertyRuns.ts'
import { arbitraryBlockEvents, arbitraryEntries, PARTIES } from '../../../support/chain/arbitraryEntries.ts'

/** What a reader makes of the stored bytes. */
function readBack(bytes: Uint8Array, entries: readonly StoredEntry[]) {
  const stored = decodeResults(bytes)
  const transactions = entries.flatMap((entry) => (entry.kind === 'evm' ? [entry.signed] : []))
  const txs = entries.map((entry) => (entry.kind === 'native' ? entry.raw : new Uint8Array()))
  return { entries: entriesOf(stored, transactions, txs), events: stored.events }
}

it('reads the results of a block as they were written, in their places', () => {
  fc.assert(
    fc.property(arbitraryEntries, arbitraryBlockEvents, (entries, events) => {
      const bytes = encodeResults(entries, events)
      expect(readBack(bytes, entries)).toEqual({ entries, events })
      expect(countExecuted(bytes)).toBe(entries.filter(({ kind }) => kind === 'evm').length)
    }),
    { numRuns: runs(200) },
  )
})

it('stores the texts of events once, and nothing of them for a block that has none', () => {
  const address = 'coin1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqxyz'
  const event = { type: 'transfer', attributes: [{ key: 'recipient', value: address }] }
  const one = encodeResults([], { begin: [event], end: [] }).length
  const many = encodeResults([], { begin: Array.from({ length: 11 }, () => event), end: [] }).length
  expect(many - one).toBeLessThan(10 * 6)
  const [transfer] = fc.sample(
    arbitraryEntries.filter(([first]) => first?.kind === 'evm'),
    { numRuns: 1, seed: 5 },
  )[0]!
  if (transfer?.kind !== 'evm') throw new Error('no EVM entry')
  const plain = { ...transfer, transfers: [], events: [], receipt: { ...transfer.receipt, logs: [] } }
  const size = encodeResults([plain], NO_BLOCK_EVENTS).length
  expect(size).toBeLessThan(80)
  const moved = { ...plain, transfers: [{ from: PARTIES[0]!, to: PARTIES[1]!, amountAcoin: 10n ** 18n }] }
  expect(encodeResults([moved], NO_BLOCK_EVENTS).length - size).toBeLessThan(60)
})

import { expect, it } from 'vitest'
import type { NativeEvent } from '../../../../src/chain/block/entries.ts'
import { parseEventQuery } from '../../../../src/rpc/events/eventQuery.ts'
import { matchesSearch } from '../../../../src/rpc/events/search.ts'

function event(type: string, attributes: Readonly<Record<string, string>>): NativeEvent {
  return { type, attributes: Object.entries(attributes).map(([key, value]) => ({ key, value })) }
}

const EVENTS = [
  event('message', { action: '/cosmos.bank.v1beta1.MsgSend', sender: 'a', module: 'bank' }),
  event('transfer', { recipient: 'b', sender: 'a', amount: '6acoin' }),
  event('transfer', { recipient: 'c', sender: 'a', amount: '5acoin' }),
  event('cosmos.authz.v1beta1.EventGrant', { grantee: '"b"', granter: '"a"' }),
]

it.each([
  ["transfer.recipient='b'", true],
  ["transfer.recipient='b' AND transfer.amount='6acoin'", true],
  // Each is there, but not in one event.
  ["transfer.recipient='b' AND transfer.amount='5acoin'", false],
  ["transfer.recipient='b' AND transfer.amount<6", false],
  ["transfer.recipient='c' AND transfer.amount<6", true],
  ["transfer.recipient EXISTS AND transfer.amount>5 AND transfer.recipient='c'", false],
  // Of several types, one event of each is enough.
  ["message.action='/cosmos.bank.v1beta1.MsgSend' AND message.sender='a' AND transfer.recipient='c'", true],
  ["message.sender='b' AND transfer.recipient='c'", false],
  ["cosmos.authz.v1beta1.EventGrant.grantee='\"b\"' AND transfer.recipient='c'", true],
  ["tx.height=7 AND tm.event='Tx'", true],
  ["tx.height>6 AND transfer.sender='a'", true],
  ["tx.height=8 AND transfer.sender='a'", false],
  ["recipient='b'", false],
  ['burn.amount EXISTS', false],
])('finds by %s: %s', (text, expected) => {
  expect(matchesSearch(parseEventQuery(text), EVENTS, { 'tm.event': 'Tx', 'tx.height': '7' })).toBe(expected)
})

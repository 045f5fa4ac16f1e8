import { describe, expect, it } from 'vitest'
import { createEventSubscribers } from '../../../../src/rpc/comet/eventSubscribers.ts'
import { parseEventQuery } from '../../../../src/rpc/events/eventQuery.ts'
import { createClientBudget } from '../../../../src/rpc/transport/clientBudget.ts'

const CLIENT = '192.0.2.1'

function setup(total = 1e9) {
  let taken = 0
  const budget = createClientBudget({ total, onChange: (bytes) => (taken = bytes) })
  const subscribers = createEventSubscribers(budget)
  const add = (text: string, startLength = 100) =>
    subscribers.add(parseEventQuery(text), 1, {
      client: CLIENT,
      startLength,
      deliver: () => undefined,
      drop: () => undefined,
    })
  const found = (values: Readonly<Record<string, readonly string[]>>): readonly string[] =>
    subscribers.candidates(new Map(Object.entries(values))).map(({ query }) => query.text)
  return { subscribers, add, found, taken: () => taken }
}

describe('queries', () => {
  it('that are the same are one for all their subscribers', () => {
    const { subscribers, add, found } = setup()
    const ends = Array.from({ length: 50 }, () => add("tm.event='Tx'"))
    expect(subscribers.size).toBe(50)
    expect(found({ 'tm.event': ['Tx'] })).toEqual(["tm.event='Tx'"])
    for (const end of ends) end?.()
    expect(found({ 'tm.event': ['Tx'] })).toEqual([])
    expect(subscribers.size).toBe(0)
  })

  it('are compared only with events that have the value of their most selective condition', () => {
    const { add, found } = setup()
    for (let i = 0; i < 1_000; i++) add(`tm.event='Tx' AND transfer.recipient='coin${i}' AND tx.height>0`)
    expect(found({ 'tm.event': ['Tx'], 'transfer.recipient': ['coin7', 'coin7', 'coin9', 'other'] })).toEqual([
      "tm.event='Tx' AND transfer.recipient='coin7' AND tx.height>0",
      "tm.event='Tx' AND transfer.recipient='coin9' AND tx.height>0",
    ])
    expect(found({ 'tm.event': ['Tx'] })).toEqual([])
  })

  it.each([
    ["tm.event='Tx' AND slash.reason EXISTS", 'slash.reason', 'any'],
    ['tx.height>5 AND transfer.amount>7', 'transfer.amount', 'any'],
    ["tx.height>5 AND tm.event='Tx'", 'tm.event', 'Tx'],
    ["tx.hash='AB' AND transfer.amount EXISTS", 'tx.hash', 'AB'],
    ['tx.height>5', 'tx.height', 'any'],
  ])('%s are found by %s', (query, key, value) => {
    const { add, found } = setup()
    add(query)
    expect(found({ [key]: [value] })).toEqual([query])
    expect(found({ other: [value] })).toEqual([])
  })

  it('say which kinds of events they want', () => {
    const { subscribers, add } = setup()
    add("tm.event='Tx' AND a.b='c'")
    expect([subscribers.wants('Tx'), subscribers.wants('NewBlock')]).toEqual([true, false])
    const end = add('a.b=5')
    expect(subscribers.wants('NewBlock')).toBe(true)
    end?.()
    end?.()
    expect(subscribers.wants('NewBlock')).toBe(false)
  })

  it('take memory of the budget for their length, and for the IDs that are kept, until they end', () => {
    const { add, taken } = setup(150_000)
    const end = add("tm.event='Tx'")
    const short = taken()
    expect(short).toBeGreaterThan(1_500)
    expect(add("tm.event='Tx'", 50_000)).toBeUndefined()
    expect(taken()).toBe(short)
    const endLong = add(Array(50).fill('a.b=5').join(' AND '))
    expect(taken()).toBeGreaterThan(short + 15_000)
    endLong?.()
    end?.()
    expect(taken()).toBe(0)
  })
})

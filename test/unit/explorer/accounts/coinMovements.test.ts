import { describe, expect, it } from 'vitest'
import { coinMovements } from '../../../../explorer/accounts/coinMovements.ts'
import type { Event } from '../../../../explorer/node/answers.ts'
import { toBech32 } from '../../../../src/primitives/address.ts'

const NAMES = ['alice', 'bob', 'carol', 'fees'] as const
type Name = (typeof NAMES)[number]
const account = (name: Name): Uint8Array => new Uint8Array(20).fill(NAMES.indexOf(name) + 1)
const text = (name: Name): string => toBech32(account(name))

const event = (type: string, attributes: Readonly<Record<string, string>>): Event => ({
  type,
  attributes: Object.entries(attributes).map(([key, value]) => ({ key, value })),
})
const spent = (spender: Name, amount: number): Event =>
  event('coin_spent', { spender: text(spender), amount: amount === 0 ? '' : `${amount}acoin` })
const received = (receiver: Name, amount: number): Event =>
  event('coin_received', { receiver: text(receiver), amount: amount === 0 ? '' : `${amount}acoin` })

/** `alice → bob 5 transfer` */
function told(events: readonly Event[]): readonly string[] {
  const nameOf = (bytes: Uint8Array | undefined): string => (bytes === undefined ? '–' : NAMES[bytes[0]! - 1]!)
  const kinds = ['transfer', 'fee', 'mint', 'burn']
  return coinMovements(events).map(
    ({ sender, recipient, amount, kind }) => `${nameOf(sender)} → ${nameOf(recipient)} ${amount} ${kinds[kind]}`,
  )
}

describe('coinMovements', () => {
  it.each<[string, readonly Event[], readonly string[]]>([
    ['a send', [spent('alice', 5), received('bob', 5)], ['alice → bob 5 transfer']],
    ['nothing', [spent('alice', 0), received('bob', 0)], []],
    [
      'a fee before a send',
      [
        spent('alice', 2),
        received('fees', 2),
        event('tx', { fee: '2acoin', fee_payer: text('alice') }),
        spent('alice', 5),
        received('bob', 5),
      ],
      ['alice → fees 2 fee', 'alice → bob 5 transfer'],
    ],
    [
      'one who pays several',
      [spent('alice', 5), received('bob', 2), received('carol', 3)],
      ['alice → bob 2 transfer', 'alice → carol 3 transfer'],
    ],
    [
      'minted coins',
      [received('alice', 7), event('coinbase', { minter: text('alice'), amount: '7acoin' })],
      ['– → alice 7 mint'],
    ],
    [
      'burnt coins',
      [spent('alice', 7), event('burn', { burner: text('alice'), amount: '7acoin' })],
      ['alice → – 7 burn'],
    ],
    [
      'coins burnt between a spend and its receipt',
      [
        spent('alice', 5),
        spent('bob', 7),
        event('burn', { burner: text('bob'), amount: '7acoin' }),
        received('carol', 5),
      ],
      ['bob → – 7 burn', 'alice → carol 5 transfer'],
    ],
    ['what nobody received', [spent('alice', 4)], ['alice → – 4 burn']],
    ['more received than spent', [spent('alice', 4), received('bob', 6)], ['alice → bob 4 transfer', '– → bob 2 mint']],
  ])('tells %s', (_, events, movements) => {
    expect(told(events)).toEqual(movements)
  })

  it('refuses amounts of another denomination and addresses that are none', () => {
    expect(() => coinMovements([event('coin_spent', { spender: text('alice'), amount: '5other' })])).toThrow('amount')
    expect(() => coinMovements([event('coin_spent', { spender: 'nobody', amount: '5acoin' })])).toThrow()
  })
})

import { describe, expect, it } from 'vitest'
import { kebab, queryCommands, requestPath } from '../../../../src/cli/commands/query.ts'
import { QUERIES } from '../../../../src/rpc/native/queries.ts'

const COMMANDS = queryCommands(QUERIES)

function find(group: string, name: string) {
  const found = COMMANDS.find((command) => command.group === group && command.name === name)
  if (found === undefined) throw new Error(`no command ${group} ${name}`)
  return found
}

describe('commands below coind query', () => {
  it('are there for every query that REST offers', () => {
    const offered = [...QUERIES.values()].filter(({ rest }) => rest.some(({ method }) => method === 'GET'))
    const templates = new Set(COMMANDS.map(({ template }) => template))
    const missing = offered.filter(({ rest }) => !rest.some(({ template }) => templates.has(template)))
    // The older version or name of a query has no command of its own.
    expect(missing.filter(({ path }) => !/^\/(cosmos\.gov\.v1beta1|ethermint)\./.test(path))).toEqual([])
    expect(COMMANDS.length).toBeGreaterThan(60)
    expect(new Set(COMMANDS.map(({ group, name }) => `${group} ${name}`)).size).toBe(COMMANDS.length)
  })

  it('have the fields of the path as arguments and the others as options', () => {
    expect(find('bank', 'balance')).toMatchObject({
      argumentNames: ['address'],
      optionNames: ['denom'],
      isPaged: false,
    })
    expect(find('staking', 'validators')).toMatchObject({ argumentNames: [], optionNames: ['status'], isPaged: true })
    expect(find('gov', 'proposal').template).toBe('/cosmos/gov/v1/proposals/{proposal_id}')
  })

  it('make the path and query of a request', () => {
    expect(requestPath(find('bank', 'balance'), ['coin1/x y'], new Map([['denom', 'acoin']]))).toBe(
      '/cosmos/bank/v1beta1/balances/coin1/x%20y/by_denom?denom=acoin',
    )
    const delegation = find('staking', 'delegation')
    expect(requestPath(delegation, ['coinvaloper1a', 'coin1b'], new Map())).toBe(
      '/cosmos/staking/v1beta1/validators/coinvaloper1a/delegations/coin1b',
    )
  })

  it.each([
    ['ValidatorDelegations', 'validator-delegations'],
    ['TxsEvent', 'txs-event'],
    ['proposal_id', 'proposal-id'],
    ['denom', 'denom'],
  ])('%s is %s', (name, expected) => {
    expect(kebab(name)).toBe(expected)
  })
})

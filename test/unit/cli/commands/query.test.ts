import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { kebab, queryCommands, requestPath } from '../../../../src/cli/commands/query.ts'
import { QUERIES } from '../../../../src/rpc/cosmos/queries.ts'
import { runInProcess } from '../../../support/cli/inProcess.ts'

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
    ['bank balances coin1a', '/cosmos/bank/v1beta1/balances/coin1a'],
    ['bank balances coin1a --denom acoin', '/cosmos/bank/v1beta1/balances/coin1a/by_denom?denom=acoin'],
    ['bank balance coin1a acoin', '/cosmos/bank/v1beta1/balances/coin1a/by_denom?denom=acoin'],
    ['bank balance coin1a --denom acoin', '/cosmos/bank/v1beta1/balances/coin1a/by_denom?denom=acoin'],
    ['bank total', '/cosmos/bank/v1beta1/supply'],
    ['bank total-supply-of acoin', '/cosmos/bank/v1beta1/supply/by_denom?denom=acoin'],
    ['auth account coin1a', '/cosmos/auth/v1beta1/accounts/coin1a'],
    ['account coin1a', '/cosmos/auth/v1beta1/accounts/coin1a'],
    ['auth module-account gov', '/cosmos/auth/v1beta1/module_accounts/gov'],
    [
      'staking validators --status bonded --limit 2',
      '/cosmos/staking/v1beta1/validators?status=BOND_STATUS_BONDED&pagination.limit=2',
    ],
    ['staking delegations coin1a', '/cosmos/staking/v1beta1/delegations/coin1a'],
    ['staking delegation coin1a coinvaloper1b', '/cosmos/staking/v1beta1/validators/coinvaloper1b/delegations/coin1a'],
    ['staking delegation coinvaloper1b coin1a', '/cosmos/staking/v1beta1/validators/coinvaloper1b/delegations/coin1a'],
    ['staking delegations-to coinvaloper1b', '/cosmos/staking/v1beta1/validators/coinvaloper1b/delegations'],
    [
      'staking redelegation coin1a coinvaloper1b',
      '/cosmos/staking/v1beta1/delegators/coin1a/redelegations?src_validator_addr=coinvaloper1b',
    ],
    ['gov proposals --status voting-period', '/cosmos/gov/v1/proposals?proposal_status=PROPOSAL_STATUS_VOTING_PERIOD'],
    ['gov proposals --proposal-status 2', '/cosmos/gov/v1/proposals?proposal_status=2'],
    ['gov tally 7', '/cosmos/gov/v1/proposals/7/tally'],
    ['gov params', '/cosmos/gov/v1/params/deposit'],
    ['gov params voting', '/cosmos/gov/v1/params/voting'],
    ['distribution rewards coin1a', '/cosmos/distribution/v1beta1/delegators/coin1a/rewards'],
    [
      'distribution rewards coin1a coinvaloper1b',
      '/cosmos/distribution/v1beta1/delegators/coin1a/rewards/coinvaloper1b',
    ],
    ['feegrant grant coin1a coin1b', '/cosmos/feegrant/v1beta1/allowance/coin1a/coin1b'],
    ['authz grants coin1a coin1b', '/cosmos/authz/v1beta1/grants?granter=coin1a&grantee=coin1b'],
    ['tx AB', '/cosmos/tx/v1beta1/txs/AB'],
    ['tx tx AB', '/cosmos/tx/v1beta1/txs/AB'],
    ['txs --query a=1 --page 2', '/cosmos/tx/v1beta1/txs?page=2&query=a%3D1'],
    ['evm params', '/cosmos/evm/vm/v1/params'],
    ['comet latest-block', '/cosmos/base/tendermint/v1beta1/blocks/latest'],
    ['comet-validator-set 5', '/cosmos/base/tendermint/v1beta1/validatorsets/5'],
    ['tendermint-validator-set', '/cosmos/base/tendermint/v1beta1/validatorsets/latest'],
    ['block', '/cosmos/base/tendermint/v1beta1/blocks/latest'],
    ['block --type=height 5', '/cosmos/base/tendermint/v1beta1/blocks/5'],
    [`block --type=hash ${'AB'.repeat(32)}`, '/cosmos/base/tendermint/v1beta1/blocks/9'],
  ])('coind query %s asks for %s', async (args, path) => {
    for (const name of args.startsWith('bank') ? ['query', 'q'] : ['query']) {
      const paths: string[] = []
      const server = createServer((request, response) => {
        if (request.method === 'GET') paths.push(request.url!)
        const result = { block: { header: { height: '9' } } }
        response.end(JSON.stringify(request.method === 'GET' ? { block: {} } : { result }))
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      // As those programs write addresses of nodes.
      const url = `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`
      const { errors } = await runInProcess('/', [name, ...args.split(' '), '--node', url, '-o', 'text'])
      await new Promise((resolve) => server.close(resolve))
      expect({ errors, paths }).toEqual({ errors: [], paths: [path] })
    }
  })

  it.each([
    ['block 0', "command-argument value '0' is invalid for argument 'block'. Give a whole number from 1."],
    [
      'block-results -- -1',
      "command-argument value '-1' is invalid for argument 'height'. Give a whole number from 1.",
    ],
    ['blocks --query a=1 --page x', "option '--page <n>' argument 'x' is invalid. Give a whole number from 1."],
    ['bank total --height 1e3', "option '--height <n>' argument '1e3' is invalid. Give a whole number from 1."],
    ['block --type=hash 5', 'the argument is not a block hash'],
    [`block --type=height ${'AB'.repeat(32)}`, 'the argument is not a block height'],
  ])('coind query %s is refused', async (args, line) => {
    const { code, errors } = await runInProcess('/', ['query', ...args.split(' ')])
    expect({ code, errors }).toEqual({ code: 64, errors: [expect.stringContaining(line)] })
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

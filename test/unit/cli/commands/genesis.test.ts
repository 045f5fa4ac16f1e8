import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseAddress, toBech32 } from '../../../../src/primitives/address.ts'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'
import { testAccount } from '../../../native/signTransaction.ts'
import { type Ran, runInProcess } from '../../../support/cli/inProcess.ts'

const OPERATORS = [1, 2, 3, 4].map((number) => testAccount(number))
const WALLET = testAccount(9)
const END = 4_000_000_000

let directory: string
const home = (index: number): string => join(directory, `node${index}`)
const genesisFile = (index: number): string => join(home(index), 'config', 'genesis.json')

function run(index: number, args: string, environment: Readonly<Record<string, string>> = {}): Promise<Ran> {
  const given = [...args.split(' '), '--homedir', home(index), '--network', 'testnet']
  return runInProcess(directory, given, { environment })
}

async function ok(index: number, args: string): Promise<string> {
  const outcome = await run(index, args)
  expect(outcome).toMatchObject({ code: 0, errors: [] })
  return outcome.printed
}

const gentx = (index: number, more = ''): string =>
  `genesis gentx ${OPERATORS[index]!.bech32} 500COIN --moniker node${index} --ip 10.0.0.${index} ` +
  `--private-key-file ${join(directory, `key${index}`)} --commission-rate 0.07${more}`

/** A draft with the accounts of four operators, of whom two have coins that vest; each node has it. */
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-genesis-'))
  await ok(0, 'genesis init --genesis-time 2026-01-01T00:00:00Z')
  const [first, delayed, continuous, last] = OPERATORS.map(({ bech32 }) => bech32)
  await ok(0, `genesis add-genesis-account ${first} 1000COIN`)
  await ok(0, `genesis add-genesis-account ${delayed} 1000COIN --vesting-amount 800COIN --vesting-end-time ${END}`)
  const start = Date.parse('2026-01-01T00:00:00Z') / 1000 - 1000
  const times = `--vesting-start-time ${start} --vesting-end-time ${start + 2000}`
  await ok(0, `genesis add-genesis-account ${continuous} 1000COIN --vesting-amount 300COIN ${times}`)
  await ok(0, `genesis add-account ${bytesToHex(parseAddress(last!))} 600COIN`)
  await ok(0, `genesis add-account ${last} 400COIN --append`)
  await ok(0, `genesis add-account ${WALLET.bech32} 1000000COIN`)
  for (const [index, { privateKey }] of OPERATORS.entries()) {
    writeFileSync(join(directory, `key${index}`), Buffer.from(privateKey).toString('hex'), { mode: 0o600 })
    if (index > 0) cpSync(genesisFile(0), genesisFile(index), { recursive: true })
    await ok(index, gentx(index))
    if (index > 0) cpSync(join(home(index), 'config/gentx'), join(home(0), 'config/gentx'), { recursive: true })
  }
})
afterAll(() => rmSync(directory, { recursive: true }))

function collected() {
  const { app_state, consensus } = JSON.parse(readFileSync(genesisFile(0), 'utf8'))
  return { app_state, consensus }
}

describe('a genesis of several operators', () => {
  it('has the validators that they signed, and their delegations, locked coins first', async () => {
    const printed = await ok(0, 'genesis collect-gentxs')
    expect(printed).toMatch(/^Created .* with 4 validators\n {2}genesis hash {2}[0-9a-f]{64}\n/)
    expect(
      printed
        .match(/PERSISTENT_PEERS=(.*)/)![1]!
        .split(',')
        .map((peer) => peer.replace(/^\w{40}@/, '')),
    ).toEqual(expect.arrayContaining(['10.0.0.1:26656', '10.0.0.2:26656', '10.0.0.3:26656']))
    const { app_state, consensus } = collected()
    const { validators } = app_state.staking as { readonly validators: readonly { readonly [name: string]: unknown }[] }
    expect(new Set(validators.map(({ operator_address }) => operator_address))).toEqual(
      new Set(OPERATORS.map(({ operator }) => operator)),
    )
    expect(validators[0]).toMatchObject({
      tokens: (500n * 10n ** 18n).toString(),
      commission: { commission_rates: { rate: '0.070000000000000000' } },
    })
    expect(consensus.validators).toHaveLength(4)
    const delegated = (app_state.auth.accounts as readonly { readonly base_vesting_account?: object }[]).flatMap(
      ({ base_vesting_account }) => base_vesting_account ?? [],
    )
    const coins = (coin: bigint) => [{ denom: 'acoin', amount: (coin * 10n ** 18n).toString() }]
    expect(delegated).toMatchObject([
      { delegated_vesting: coins(500n), delegated_free: [] },
      // Half of 300 has become free.
      { delegated_vesting: coins(150n), delegated_free: coins(350n) },
    ])
    expect(app_state.bank.supply).toEqual(coins(1_004_000n))
    expect(await ok(0, 'genesis validate')).toBe(`File at ${genesisFile(0)} is a valid genesis file\n`)
  })

  it('is the same when it is collected again', async () => {
    await ok(0, 'genesis collect-gentxs')
    const before = readFileSync(genesisFile(0), 'utf8')
    await ok(0, 'genesis collect-gentxs')
    expect(readFileSync(genesisFile(0), 'utf8')).toBe(before)
  })

  it('is valid only with the stake that was signed', async () => {
    await ok(0, 'genesis collect-gentxs')
    const changed = JSON.parse(readFileSync(genesisFile(0), 'utf8'))
    changed.app_state.staking.validators[0].commission.commission_rates.rate = '0.080000000000000000'
    writeFileSync(join(directory, 'changed.json'), JSON.stringify(changed))
    const outcome = await run(0, 'genesis validate changed.json')
    expect([outcome.code, ...outcome.errors]).toEqual([
      65,
      'genesis: app_state.staking: the validators differ from those that app_state.genutil.gen_txs create',
    ])
  })

  it('takes no transaction that its operator has not signed, or that it cannot pay', async () => {
    const [name] = readdirSync(join(home(1), 'config/gentx'))
    const json = readFileSync(join(home(1), 'config/gentx', name!), 'utf8')
    const attempt = async (text: string): Promise<string> => {
      rmSync(join(home(2), 'other'), { recursive: true, force: true })
      cpSync(join(home(1), 'config/gentx'), join(home(2), 'other'), { recursive: true })
      writeFileSync(join(home(2), 'other', name!), text)
      const { code, errors } = await run(2, `genesis collect-gentxs --gentx-dir ${join(home(2), 'other')}`)
      expect(code).toBe(65)
      return errors.join().replace(/^.*?\.json: /, '')
    }
    expect(await attempt(json.replace('"rate":"0.07', '"rate":"0.06'))).toMatch(/^signature verification failed/)
    expect(await attempt(json.replaceAll(OPERATORS[1]!.operator, OPERATORS[2]!.operator))).toMatch(/pubkey|signature/)
    expect(await attempt('{"body": {"messages": []}}')).not.toBe('')
    const poor = await run(3, gentx(3).replace('500COIN', '1001COIN'))
    expect(poor.errors.join()).toContain('available to stake, not 1001000000000000000000acoin')
    const again = await run(3, gentx(3))
    expect(again.errors.join()).toMatch(/gentx-\w{40}\.json already exists/)
  })

  it.each([
    [`add-account ${WALLET.bech32} 1COIN`, /already exists: use --append/],
    [
      `add-account ${WALLET.bech32} 1COIN --append --vesting-amount 1COIN --vesting-end-time 9`,
      /already exists: coins that are added to it cannot vest/,
    ],
    ['add-account 0xaa000000000000000000000000000000000000aa 1COIN --vesting-amount 2COIN', /cannot be greater than/],
    [
      'add-account 0xaa000000000000000000000000000000000000aa 1COIN --vesting-amount 1COIN',
      /must supply start and end/,
    ],
    [
      'add-account 0xaa000000000000000000000000000000000000aa 1COIN --vesting-amount 1COIN --vesting-start-time 9 --vesting-end-time 9',
      /start_time: not before end_time/,
    ],
    ['init', /genesis\.json already exists/],
    ['validate', /consensus\.validators: none: a draft gets them from coind genesis collect-gentxs$/],
  ])('refuses %s', async (args, problem) => {
    const { code, errors } = await run(1, `genesis ${args}`)
    expect(code).not.toBe(0)
    expect(errors.join()).toMatch(problem)
    expect(existsSync(genesisFile(1))).toBe(true)
  })

  it('has addresses as the SDK writes them', () => {
    const [, account] = collected().app_state.auth.accounts
    expect(account.address).toBe(toBech32(OPERATORS[0]!.address))
  })
})

describe('a validator whose key is in a remote signer', () => {
  const REMOTE = { PRIV_VALIDATOR_LADDR: 'tcp://127.0.0.1:26659' }
  const keyFile = (index: number): string => join(home(index), 'config', 'priv_validator_key.json')

  it('gets no key in the data directory: --pubkey names it', async () => {
    expect((await run(7, 'genesis init', REMOTE)).code).toBe(0)
    cpSync(genesisFile(0), genesisFile(7))
    const signed = (more: string) =>
      run(7, gentx(3, ` --output-document ${join(directory, 'remote.json')}${more}`), REMOTE)
    expect(await signed('')).toMatchObject({ code: 64, errors: [expect.stringContaining('--pubkey')] })
    const key = Buffer.alloc(32, 7).toString('base64')
    expect(await signed(` --pubkey ${key}`)).toMatchObject({ code: 0, errors: [] })
    expect(readFileSync(join(directory, 'remote.json'), 'utf8')).toContain(key)
    expect(existsSync(keyFile(7))).toBe(false)
  })
})

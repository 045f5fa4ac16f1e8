import { PubKey } from 'cosmjs-types/cosmos/crypto/ed25519/keys'
import { MsgCreateValidator } from 'cosmjs-types/cosmos/staking/v1beta1/tx'
import type { Page } from 'playwright-core'
import { createWalletClient, type Hex, http, parseAbi } from 'viem'
import { expect, it } from 'vitest'
import type { AccountStake, Delegator, StakingEvent, Validator } from '../../../explorer/stake/shapes.ts'
import { shorten } from '../../../explorer/web/src/format.ts'
import { BECH32_OPERATOR, toBech32 } from '../../../src/primitives/address.ts'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import { ACCOUNTS, COIN, GWEI, KEYS, viemChain } from '../devChain.ts'
import { connectCosmJs, getJson } from '../native/nativeChain.ts'
import { mined } from '../rpc.ts'
import type { TestNode } from '../startNode.ts'

/* Stake that moves: filled into the chain of index.test.ts, and looked at in its explorer. */

/** Makes a validator that never signs, and delegates, redelegates, undelegates and takes back. */
const ACTOR = 6
const actor = ACCOUNTS[ACTOR]!
const account = toBech32(hexToBytes(actor.address))
/** the operator that {@link fillStaking} makes */
export const SILENT_VALIDATOR = toBech32(hexToBytes(actor.address), BECH32_OPERATOR)
/** A moniker that would do harm as HTML or in SQL. */
const MONIKER = `<b>si'lent"; --`
const STAKING_PRECOMPILE = '0x0000000000000000000000000000000000000800'
const STAKING_ABI = parseAbi([
  'function delegate(address delegatorAddress, string validatorAddress, uint256 amount) returns (bool)',
])

const acoin = (amount: bigint) => ({ denom: 'acoin', amount: amount.toString() })
const pause = () => new Promise((resolve) => setTimeout(resolve, 50))

/** The message by which an account becomes a validator that never signs, with little stake. */
export function createSilentValidator(moniker: string, operator: Hex) {
  const decimal = (digit: number, zeros: number): string => `${digit}${'0'.repeat(zeros)}`
  return {
    typeUrl: MsgCreateValidator.typeUrl,
    value: MsgCreateValidator.fromPartial({
      description: { moniker },
      commission: { rate: decimal(5, 16), maxRate: decimal(2, 17), maxChangeRate: decimal(1, 16) },
      minSelfDelegation: '1',
      delegatorAddress: toBech32(hexToBytes(operator)),
      validatorAddress: toBech32(hexToBytes(operator), BECH32_OPERATOR),
      pubkey: { typeUrl: PubKey.typeUrl, value: PubKey.encode({ key: new Uint8Array(32).fill(9) }).finish() },
      value: acoin(2n * COIN),
    }),
  }
}

export async function fillStaking(node: TestNode): Promise<void> {
  const { client, address } = await connectCosmJs(node, KEYS[ACTOR]!)
  const { validators } = await getJson(node, '/cosmos/staking/v1beta1/validators')
  const first = validators[0].operator_address as string
  const creation = createSilentValidator(MONIKER, actor.address)
  const delegation = (amount: bigint) => ({ delegatorAddress: address, validatorAddress: first, amount: acoin(amount) })
  const redelegation = {
    typeUrl: '/cosmos.staking.v1beta1.MsgBeginRedelegate',
    value: {
      delegatorAddress: address,
      validatorSrcAddress: first,
      validatorDstAddress: SILENT_VALIDATOR,
      amount: acoin(COIN),
    },
  }
  const sent = await client.signAndBroadcast(
    address,
    [
      creation,
      { typeUrl: '/cosmos.staking.v1beta1.MsgDelegate', value: delegation(9n * COIN) },
      redelegation,
      { typeUrl: '/cosmos.staking.v1beta1.MsgUndelegate', value: delegation(3n * COIN) },
    ],
    'auto',
  )
  expect([sent.code, sent.rawLog]).toEqual([0, ''])
  const back = await client.signAndBroadcast(
    address,
    [
      {
        typeUrl: '/cosmos.staking.v1beta1.MsgCancelUnbondingDelegation',
        value: { ...delegation(COIN), creationHeight: BigInt(sent.height) },
      },
    ],
    'auto',
  )
  expect([back.code, back.rawLog]).toEqual([0, ''])
  client.disconnect()
  const writer = createWalletClient({ chain: viemChain(node.url), transport: http(node.url), account: actor })
  const hash = await writer.writeContract({
    address: STAKING_PRECOMPILE,
    abi: STAKING_ABI,
    functionName: 'delegate',
    args: [actor.address, first, COIN],
    gas: 500_000n,
    maxFeePerGas: 10n * GWEI,
    maxPriorityFeePerGas: GWEI,
  })
  expect((await mined(node.url, hash)).status).toBe('0x1')
}

/**
 * Declares the tests of what {@link fillStaking} did.
 * @param get asks the explorer's API for a path below its prefix
 */
export function testStaking(
  // biome-ignore lint/suspicious/noExplicitAny: the tests look into answers of every shape
  get: (path: string) => Promise<any>,
  chain: () => TestNode,
): void {
  it('has the validators and delegations that the node has', async () => {
    const { validators } = await getJson(chain(), '/cosmos/staking/v1beta1/validators')
    const { items } = (await get('validators')) as { items: Validator[] }
    const expected = validators as { operator_address: string; tokens: string; description: { moniker: string } }[]
    expect(new Set(items.map(({ operator, tokens, moniker }) => `${operator} ${tokens} ${moniker}`))).toEqual(
      new Set(expected.map((own) => `${own.operator_address} ${own.tokens} ${own.description.moniker}`)),
    )
    expect(items.map(({ moniker }) => moniker)).toEqual(['devnet', MONIKER])
    for (const { operator, delegators } of items) {
      const path = `/cosmos/staking/v1beta1/validators/${operator}/delegations`
      const { delegation_responses: responses } = await getJson(chain(), path)
      const there = responses as { delegation: { delegator_address: string }; balance: { amount: string } }[]
      const listed = (await get(`validators/${operator}/delegators`)) as { items: Delegator[] }
      const found = listed.items.map(({ address, amount }) => `${toBech32(hexToBytes(address))} ${amount}`)
      expect(new Set(found)).toEqual(
        new Set(there.map((own) => `${own.delegation.delegator_address} ${own.balance.amount}`)),
      )
      expect(delegators).toBe(there.length)
    }
  })

  it('tells what happened to stake, and what is on its way', async () => {
    const { items } = (await get(`addresses/${actor.address}/stake-events`)) as { items: StakingEvent[] }
    const kinds = items.map(({ kind, amount }) => `${kind} ${Number(BigInt(amount ?? '0') / COIN)}`)
    expect(kinds.filter((kind) => !kind.startsWith('withdraw'))).toEqual([
      'delegate 1',
      'cancelUndelegation 1',
      'undelegate 3',
      'redelegate 1',
      'delegate 9',
      'create 2',
    ])
    const stake = (await get(`addresses/${account}/stake`)) as AccountStake
    expect(stake).toMatchObject({
      delegations: [
        { moniker: 'devnet', amount: String(7n * COIN) },
        { operator: SILENT_VALIDATOR, moniker: MONIKER, amount: String(3n * COIN) },
      ],
      unbondings: [{ moniker: 'devnet', amount: String(2n * COIN) }],
      redelegations: [{ from: { moniker: 'devnet' }, to: { operator: SILENT_VALIDATOR }, amount: String(COIN) }],
      withdrawAddress: actor.address,
      totalDelegated: String(10n * COIN),
    })
    const own = (await get(`validators/${SILENT_VALIDATOR}/events`)) as { items: StakingEvent[] }
    expect(own.items.map(({ kind }) => kind).filter((kind) => !kind.startsWith('withdraw'))).toEqual([
      'redelegate',
      'create',
    ])
  })

  it('shows who signs, and finds validators by name', async () => {
    let uptime = { blocks: 0, signed: 0 }
    while (uptime.blocks < 3) {
      await pause()
      ;({ uptime } = await get(`validators/${SILENT_VALIDATOR}`))
    }
    expect(uptime.signed).toBe(0)
    const { consensusAddress, recentBlocks } = (await get(`validators/${account}`)) as Validator
    expect(recentBlocks).toMatch(/^-*a{3,}$/)
    const [absence] = (await get(`validators/${consensusAddress}/absences`)).items
    expect(absence).toMatchObject({ kind: 'absent' })
    const [first] = (await get('validators')).items as Validator[]
    expect(first!.recentBlocks).toMatch(/^s+$/)
    const [block] = (await get(`validators/${first!.operator}/blocks`)).items
    expect(block.proposer).toBe(first!.consensusAddress)
    expect((await get(`search?q=${encodeURIComponent("<B>Si'l")}`)).items).toContainEqual({
      kind: 'validator',
      id: SILENT_VALIDATOR,
      label: MONIKER,
    })
  })
}

/** Looks at the pages of all that, as a person would. */
export async function viewStaking(page: Page, url: string): Promise<void> {
  const main = page.locator('main')
  await page.goto(`${url}validators`)
  await main.getByRole('link', { name: MONIKER }).click()
  await main.getByRole('heading', { name: MONIKER }).waitFor()
  await main.getByText(/^Signed 0 of the last/).waitFor()
  await main.getByRole('tab', { name: 'Events' }).click()
  await main.getByRole('link', { name: 'devnet' }).first().waitFor()
  await main
    .getByRole('link', { name: shorten(actor.address) })
    .first()
    .click()
  await main.getByRole('tab', { name: 'Stake' }).click()
  await main.getByText('undelegation cancelled').waitFor()
}

import { z } from 'zod'
import { BECH32_OPERATOR, parseAddress, toBech32, toChecksumAddress } from '../../src/primitives/address.ts'
import { bytesKey } from '../../src/primitives/bytes.ts'
import type { Api } from '../api/api.ts'
import { placePageQuery, problem, textPageOf } from '../api/shapes.ts'
import { spelledAddress } from '../api/spelledAddress.ts'
import { accountOf } from '../node/readAnswers.ts'
import { askWholeState, type PagedAnswer } from '../node/stateQueries.ts'
import { listDelegations, listStakingEvents, namesOf } from './queries.ts'
import { type AccountStake, accountStake, stakingEvent } from './shapes.ts'

/** About as long as a block takes. */
const MAX_AGE_MS = 400

interface NodeEntry {
  readonly creation_height: string | number
  readonly completion_time: string
}

interface NodeUnbonding {
  readonly validator_address: string
  readonly entries: readonly (NodeEntry & { readonly balance: string })[]
}

interface NodeRedelegation {
  readonly redelegation: { readonly validator_src_address: string; readonly validator_dst_address: string }
  readonly entries: readonly { readonly redelegation_entry: NodeEntry; readonly balance: string }[]
}

interface NodeRewards {
  readonly rewards: readonly {
    readonly validator_address: string
    readonly reward: readonly { readonly denom: string; readonly amount: string }[]
  }[]
}

/** The part of an account's stake that only the node has. */
interface NodeStake {
  readonly unbondings: readonly NodeUnbonding[]
  readonly redelegations: readonly NodeRedelegation[]
  readonly rewards: NodeRewards['rewards']
  readonly withdrawAddress: string
}

/** The stake of an account. */
export function addStake(
  app: Api['app'],
  { queries, node, cache, limitNodeQuestions }: Pick<Api, 'queries' | 'node' | 'cache' | 'limitNodeQuestions'>,
): void {
  const tags = ['addresses']
  const params = z.object({ address: spelledAddress.describe('0x… or coin1…') })

  const askNode = async (account: string): Promise<NodeStake> => {
    const staking = `/cosmos/staking/v1beta1/delegators/${account}`
    const distribution = `/cosmos/distribution/v1beta1/delegators/${account}`
    const [unbondings, redelegations, { rewards }, { withdraw_address: withdrawAddress }] = await Promise.all([
      askWholeState(
        node,
        `${staking}/unbonding_delegations`,
        undefined,
        (answer: PagedAnswer & { readonly unbonding_responses: readonly NodeUnbonding[] }) =>
          answer.unbonding_responses,
      ),
      askWholeState(
        node,
        `${staking}/redelegations`,
        undefined,
        (answer: PagedAnswer & { readonly redelegation_responses: readonly NodeRedelegation[] }) =>
          answer.redelegation_responses,
      ),
      node.rest(`${distribution}/rewards`) as Promise<NodeRewards>,
      node.rest(`${distribution}/withdraw_address`) as Promise<{ readonly withdraw_address: string }>,
    ])
    return { unbondings, redelegations, rewards, withdrawAddress }
  }

  app.get(
    '/addresses/:address/stake',
    {
      preHandler: limitNodeQuestions,
      schema: {
        tags,
        summary: 'Delegations, unbonding entries and rewards of an account',
        params,
        response: { 200: accountStake, 429: problem },
      },
    },
    async ({ params: { address } }): Promise<AccountStake> => {
      const account = toBech32(address)
      const [delegations, own] = await Promise.all([
        listDelegations(queries, address),
        cache.get(`stake ${account}`, MAX_AGE_MS, () => askNode(account)),
      ])
      const rewards = new Map(
        own.rewards.map(({ validator_address: operator, reward }) => [operator, wholeCoins(reward)]),
      )
      const operators = [
        ...own.unbondings.map(({ validator_address: operator }) => operator),
        ...own.redelegations.flatMap(({ redelegation: { validator_src_address: from, validator_dst_address: to } }) => [
          from,
          to,
        ]),
      ].map((operator) => parseAddress(operator, BECH32_OPERATOR))
      const names = await namesOf(queries, operators)
      const nameOf = (operator: string) =>
        names.get(bytesKey(parseAddress(operator, BECH32_OPERATOR))) ?? { operator, moniker: '' }
      const entryOf = ({ creation_height: height, completion_time: time }: NodeEntry) => ({
        height: Number(height),
        completesAt: new Date(time).toISOString(),
      })
      return {
        delegations: delegations.map(({ amount, ...name }) => ({
          ...name,
          amount: amount.toString(),
          rewards: (rewards.get(name.operator) ?? 0n).toString(),
        })),
        unbondings: own.unbondings.flatMap(({ validator_address: operator, entries }) =>
          entries.map((entry) => ({ ...nameOf(operator), amount: entry.balance, ...entryOf(entry) })),
        ),
        redelegations: own.redelegations.flatMap(({ redelegation, entries }) =>
          entries.map(({ redelegation_entry: entry, balance }) => ({
            from: nameOf(redelegation.validator_src_address),
            to: nameOf(redelegation.validator_dst_address),
            amount: balance,
            ...entryOf(entry),
          })),
        ),
        withdrawAddress: toChecksumAddress(accountOf(own.withdrawAddress)),
        totalDelegated: delegations.reduce((sum, { amount }) => sum + amount, 0n).toString(),
        totalRewards: [...rewards.values()].reduce((sum, reward) => sum + reward, 0n).toString(),
      }
    },
  )

  app.get(
    '/addresses/:address/stake-events',
    {
      schema: {
        tags,
        summary: 'Staking events of an account',
        params,
        querystring: placePageQuery,
        response: { 200: textPageOf(stakingEvent) },
      },
    },
    ({ params: { address }, query }) => listStakingEvents(queries, { delegator: address }, query),
  )
}

/** Rewards have 18 places after the point; what is paid is the whole acoin. */
function wholeCoins(coins: readonly { readonly denom: string; readonly amount: string }[]): bigint {
  const own = coins.find(({ denom }) => denom === 'acoin')
  return own === undefined ? 0n : BigInt(own.amount.split('.')[0]!)
}

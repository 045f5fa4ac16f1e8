import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Account, accountWithKey } from '../../bench/load/sign.ts'
import { createDuplicateVoteEvidence, encodeEvidence } from '../../src/chain/comet/evidence.ts'
import { SIGNED_MESSAGE_TYPES, type Vote } from '../../src/chain/comet/types.ts'
import { voteSignBytes } from '../../src/chain/comet/vote.ts'
import type { Genesis } from '../../src/chain/genesis/genesisSchema.ts'
import { loadValidatorKey } from '../../src/consensus/validatorKey.ts'
import { dataPaths } from '../../src/datadir/dataDirectory.ts'
import { MsgSubmitProposal, MsgVote, VOTE_OPTIONS } from '../../src/modules/gov/types.ts'
import { MsgUpdateParams } from '../../src/modules/mint/messages.ts'
import { MsgCreateValidator, MsgDelegate, MsgUndelegate } from '../../src/modules/staking/messages.ts'
import { Ed25519PubKey } from '../../src/modules/tx/publicKey.ts'
import { moduleAddress, toBech32 } from '../../src/primitives/address.ts'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import { ONE } from '../../src/primitives/decimal.ts'
import { signEd25519 } from '../../src/primitives/ed25519.ts'
import { sha256 } from '../../src/primitives/hash.ts'
import type { AnyValue } from '../../src/primitives/protoSchema.ts'
import { rpc } from '../e2e/rpc.ts'
import { anyOf } from '../native/signTransaction.ts'
import type { Attack, Run } from './attack.ts'
import { proposalOf } from './blockAttacks.ts'
import { broadcast, broadcastAll, keepBroadcasting, nativeOf, nonceOf, outsider, sendNative } from './outsiders.ts'
import { urlOf } from './repeatedCall.ts'
import { attackerAccount } from './transactionAttacks.ts'

const DEPOSIT_ACOIN = 10n ** 18n
const VOTING_SECONDS = 12
const DEPOSIT_SECONDS = 20
/** Messages and gas of a transaction that delegates many times. */
const DELEGATIONS = { messages: 60, gas: 16_000_000n } as const
/** Gas of a validator's creation, and of a delegation and its end. */
const CREATION_GAS = 500_000n
const UNBONDING_GAS = 600_000n
const PROPOSAL_GAS = 8_000_000n
const LOOK_MS = 200

const acoin = (amount: bigint) => ({ denom: 'acoin', amount })
const operatorOf = ({ address }: Account): string => toBech32(address, 'coinvaloper')

/** Votes and deposits end while the attack lasts. */
function shortVotes({ app_state: { gov } }: Genesis): void {
  gov.params.voting_period = `${VOTING_SECONDS}s`
  gov.params.expedited_voting_period = `${VOTING_SECONDS / 2}s`
  gov.params.max_deposit_period = `${DEPOSIT_SECONDS}s`
  gov.params.min_deposit = [{ denom: 'acoin', amount: DEPOSIT_ACOIN.toString() }]
}

function creationOf(operator: Account, index: number): AnyValue {
  return anyOf(MsgCreateValidator, {
    description: { moniker: `v${index}`, identity: '', website: '', securityContact: '', details: '' },
    commission: { rate: 0n, maxRate: ONE, maxChangeRate: ONE },
    minSelfDelegation: 1n,
    validatorAddress: operatorOf(operator),
    pubkey: anyOf(Ed25519PubKey, { key: sha256(new TextEncoder().encode(`consensus key ${index}`)) }),
    value: acoin(1n),
  })
}

const delegationTo = (delegator: Account, operator: string, amount = 1n): AnyValue =>
  anyOf(MsgDelegate, {
    delegatorAddress: toBech32(delegator.address),
    validatorAddress: operator,
    amount: acoin(amount),
  })

/** One account that has delegated to many validators. */
async function delegateWidely(run: Run, voter: Account, validators: readonly Account[]): Promise<void> {
  const creations = validators.map((operator, index) => ({
    account: operator,
    raw: nativeOf(operator, 0n, [creationOf(operator, index)], CREATION_GAS),
  }))
  await broadcastAll(run, creations)
  const first = await nonceOf(run, voter)
  const groups = Array.from({ length: Math.ceil(validators.length / DELEGATIONS.messages) }, (_, index) =>
    validators.slice(index * DELEGATIONS.messages, (index + 1) * DELEGATIONS.messages),
  )
  const delegations = groups.map((group, index) => ({
    account: voter,
    raw: nativeOf(
      voter,
      first + BigInt(index),
      group.map((operator) => delegationTo(voter, operatorOf(operator))),
      DELEGATIONS.gas,
    ),
  }))
  await broadcastAll(run, delegations, 1)
  run.count('delegations', await totalOf(run, `cosmos/staking/v1beta1/delegations/${toBech32(voter.address)}`))
}

function voteOn(voter: Account, proposalId: bigint): AnyValue {
  return anyOf(MsgVote, { proposalId, voter: toBech32(voter.address), option: VOTE_OPTIONS.VOTE_OPTION_YES })
}

/** The account of a validator's operator, from the file that its node has. */
function operatorAt(home: string): Account {
  const { private_key } = JSON.parse(readFileSync(join(home, 'config', 'operator_key.json'), 'utf8')) as {
    private_key: `0x${string}`
  }
  return accountWithKey(hexToBytes(private_key))
}

interface ValidatorsAnswer {
  readonly result: { readonly validators: readonly { readonly address: string; readonly voting_power: string }[] }
}
interface CommitAnswer {
  readonly result: { readonly signed_header: { readonly header: { readonly time: string } } }
}

/** Evidence that the attacked validator voted twice at this height, in base64. */
async function evidenceAt(run: Run, height: number): Promise<string> {
  const { homes, chainId } = run.target
  const key = loadValidatorKey(dataPaths(homes[1]!).validatorKey)!
  const ask = async <T>(path: string): Promise<T> =>
    (await (await fetch(`${urlOf(run)}rpc/${path}?height=${height}`)).json()) as T
  const { result } = await ask<ValidatorsAnswer>('validators')
  const validators = result.validators.map(({ address, voting_power }) => ({
    address: hexToBytes(`0x${address.toLowerCase()}`),
    publicKey: key.publicKey,
    power: BigInt(voting_power),
  }))
  const index = validators.findIndex(({ address }) => Buffer.from(address).equals(key.address))
  const vote = (value: number): Vote => {
    const hash = new Uint8Array(32).fill(value)
    const unsigned = {
      type: SIGNED_MESSAGE_TYPES.precommit,
      height,
      round: 0,
      blockId: { hash, partSetHeader: { total: 1, hash } },
      timestampMs: Date.now(),
      validatorAddress: key.address,
      validatorIndex: index,
    }
    return { ...unsigned, signature: signEd25519(key, voteSignBytes(chainId, unsigned)) }
  }
  const { signed_header } = (await ask<CommitAnswer>('commit')).result
  const set = { validators, totalPower: validators.reduce((sum, { power }) => sum + power, 0n) }
  const timeMs = Date.parse(signed_header.header.time)
  return Buffer.from(
    encodeEvidence(createDuplicateVoteEvidence(vote(1), vote(2), { validators: set, timeMs })),
  ).toString('base64')
}

/** How many records a list of the node's REST has: what an attack has prepared. */
async function totalOf(run: Run, path: string): Promise<number> {
  const answer = await fetch(new URL(`${path}?pagination.limit=1&pagination.count_total=true`, urlOf(run)))
  const { pagination } = (await answer.json()) as { readonly pagination?: { readonly total?: string } }
  return Number(pagination?.total ?? 0)
}

/** The status of a proposal, as REST names it. */
async function statusOf(run: Run, proposal: number): Promise<string | undefined> {
  const answer = await fetch(new URL(`cosmos/gov/v1/proposals/${proposal}`, urlOf(run)))
  const { proposal: found } = (await answer.json()) as { readonly proposal?: { readonly status: string } }
  return found?.status
}

/** Waits for the end of a vote, or of the attack. */
async function voteEnded(run: Run, proposal: number): Promise<string | undefined> {
  for (;;) {
    const status = await statusOf(run, proposal)
    if (run.signal.aborted || (status !== undefined && !status.endsWith('_PERIOD'))) return status
    await sleep(LOOK_MS)
  }
}

/** What needs parameters or records that a chain has after a long time: each has a network of its own. */
export const STAKE_ATTACKS: readonly Attack[] = [
  {
    name: '2 votes with many delegations',
    what: 'a vote whose only voter has # delegations, and changes his stake all the time while votes are counted',
    size: 2_000,
    seconds: VOTING_SECONDS + 12,
    needs: { delegations: 1_000, 'votes ended': 1, accepted: 10 },
    changeGenesis: shortVotes,
    prepare: async (run) => {
      const voter = outsider('2')
      const validators = Array.from({ length: run.size }, (_, index) => attackerAccount(index))
      await delegateWidely(run, voter, validators)
      const proposal = anyOf(MsgSubmitProposal, {
        messages: [],
        metadata: 'm',
        initialDeposit: [acoin(DEPOSIT_ACOIN)],
        proposer: toBech32(voter.address),
        title: 't',
        summary: 's',
      })
      return async () => {
        await sendNative(run, voter, [proposal, voteOn(voter, 1n)])
        const operator = operatorOf(validators[0]!)
        const counted = voteEnded(run, 1).then((status) => run.count(status === undefined ? 'no vote' : 'votes ended'))
        await Promise.all([
          keepBroadcasting(run, voter, (sequence) =>
            nativeOf(voter, sequence, [delegationTo(voter, operator)], UNBONDING_GAS),
          ),
          counted,
        ])
      }
    },
  },
  {
    name: '3 late evidence',
    what: 'evidence of a fault before # unbondings from the validator began',
    size: 4_000,
    seconds: 8,
    needs: { unbondings: 1_000, evidence: 1, tombstoned: 1 },
    changeGenesis: shortVotes,
    prepare: async (run) => {
      const height = Number(await rpc<string>(urlOf(run), 'eth_blockNumber'))
      const operator = operatorOf(operatorAt(run.target.homes[1]!))
      const unbondings = Array.from({ length: run.size }, (_, index) => {
        const account = attackerAccount(index)
        const end = anyOf(MsgUndelegate, {
          delegatorAddress: toBech32(account.address),
          validatorAddress: operator,
          amount: acoin(1n),
        })
        return { account, raw: nativeOf(account, 0n, [delegationTo(account, operator, 2n), end], UNBONDING_GAS) }
      })
      await broadcastAll(run, unbondings)
      const unbonding = `cosmos/staking/v1beta1/validators/${operator}/unbonding_delegations`
      run.count('unbondings', await totalOf(run, unbonding))
      const evidence = await evidenceAt(run, height)
      return async () => {
        await rpc(`${urlOf(run)}rpc/`, 'broadcast_evidence', evidence)
        run.count('evidence')
        for (let isPunished = false; !isPunished && !run.signal.aborted; await sleep(LOOK_MS)) {
          const answer = await fetch(new URL('cosmos/slashing/v1beta1/signing_infos', urlOf(run)))
          const { info } = (await answer.json()) as { readonly info: readonly { readonly tombstoned: boolean }[] }
          isPunished = info.some(({ tombstoned }) => tombstoned)
          if (isPunished) run.count('tombstoned')
        }
      }
    },
  },
  {
    name: '5 ends of deposits',
    what: `# proposals of 64 KB whose deposits end in the same seconds`,
    size: 150,
    seconds: DEPOSIT_SECONDS + 8,
    needs: { proposals: 100 },
    changeGenesis: shortVotes,
    prepare: async (run) => {
      const proposer = outsider('5b')
      const first = await nonceOf(run, proposer)
      const proposal = [proposalOf(proposer, 480)]
      return async () => {
        const submissions = Array.from({ length: run.size }, (_, index) => ({
          account: proposer,
          raw: nativeOf(proposer, first + BigInt(index), proposal, PROPOSAL_GAS),
        }))
        await broadcastAll(run, submissions, 1)
        run.count('proposals', await totalOf(run, 'cosmos/gov/v1/proposals'))
      }
    },
  },
  {
    name: '7 extreme inflation',
    what: 'a vote for the most inflation and the fewest blocks a year that are legal',
    size: 1,
    seconds: VOTING_SECONDS + 15,
    needs: { PROPOSAL_STATUS_PASSED: 1 },
    changeGenesis: shortVotes,
    prepare: async (run) => {
      const proposer = outsider('7')
      const update = anyOf(MsgUpdateParams, {
        authority: toBech32(moduleAddress('gov')),
        params: {
          mintDenom: 'acoin',
          inflationRateChange: ONE,
          inflationMax: ONE,
          inflationMin: ONE,
          goalBonded: 1n,
          blocksPerYear: 1_000n,
        },
      })
      const proposal = anyOf(MsgSubmitProposal, {
        messages: [update],
        initialDeposit: [acoin(DEPOSIT_ACOIN)],
        proposer: toBech32(proposer.address),
        title: 't',
        summary: 's',
      })
      return async () => {
        await sendNative(run, proposer, [proposal], PROPOSAL_GAS)
        const operators = run.target.homes.slice(1).map(operatorAt)
        await Promise.all(
          operators.map((operator) => broadcast(run, nativeOf(operator, 0n, [voteOn(operator, 1n)], UNBONDING_GAS))),
        )
        run.count((await voteEnded(run, 1)) ?? 'no proposal')
      }
    },
  },
]

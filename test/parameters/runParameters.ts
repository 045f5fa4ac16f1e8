import type { NativeEvent } from '../../src/chain/block/entries.ts'
import { BLOCK_PROTOCOL, dataHash, encodeBlock, headerHash } from '../../src/chain/comet/block.ts'
import { commitHash } from '../../src/chain/comet/commit.ts'
import { evidenceHash } from '../../src/chain/comet/evidence.ts'
import { createPartSet } from '../../src/chain/comet/partSet.ts'
import { BLOCK_ID_FLAGS, EMPTY_COMMIT, NIL_BLOCK_ID } from '../../src/chain/comet/types.ts'
import { validatorSetHash } from '../../src/chain/comet/validatorSet.ts'
import type { DecidedBlock } from '../../src/consensus/application.ts'
import { checkInvariants } from '../../src/datadir/checkInvariants.ts'
import { copyDatabase } from '../../src/datadir/copyDatabase.ts'
import { type BlockHooks, type BlockStart, MODULE_HOOKS } from '../../src/execution/blockHooks.ts'
import { ITEM_LEFT_ALONE } from '../../src/modules/blockItem.ts'
import type { CommitVote, Misbehaviour, ModuleContext } from '../../src/modules/context.ts'
import { distributionInvariants } from '../../src/modules/distribution/invariants.ts'
import { isCommitted } from '../../src/modules/evidence/evidence.ts'
import { govInvariants } from '../../src/modules/gov/state.ts'
import { MESSAGES } from '../../src/modules/messageTable.ts'
import { readNested } from '../../src/modules/nestedMessages.ts'
import { isSdkError } from '../../src/modules/sdkError.ts'
import { slashingInvariants } from '../../src/modules/slashing/invariants.ts'
import { stakingInvariants } from '../../src/modules/staking/invariants.ts'
import { vestingInvariants } from '../../src/modules/vesting/invariants.ts'
import { bigIntToBytes, bytesToHex } from '../../src/primitives/bytes.ts'
import { sha256 } from '../../src/primitives/hash.ts'
import type { AnyValue } from '../../src/primitives/protoSchema.ts'
import { createViewCaches, openView } from '../../src/state/view.ts'
import { Database } from '../../src/storage/database.ts'
import { testAccount } from '../native/signTransaction.ts'
import { createTestChain, GENESIS_TIME_MS, type TestChain } from '../support/execution/testChain.ts'
import { createRandom, type Random } from './random.ts'
import { randomMessage } from './randomMessages.ts'
import { randomUpdate } from './randomParameters.ts'

const COIN = 10n ** 18n
/** What a message may use at most. */
const MESSAGE_GAS = 16_777_216n
const MESSAGES_PER_BLOCK = 8
const VALIDATORS = 5
const PEOPLE = Array.from({ length: 14 }, (_, index) => testAccount(100 + index).address)

const INVARIANTS = [
  stakingInvariants,
  distributionInvariants,
  slashingInvariants,
  govInvariants,
  vestingInvariants,
] as const

export interface ParameterRun {
  readonly blocks: number
  /** what happened, by name: changes of parameters, messages and faults that were done and refused */
  readonly counts: ReadonlyMap<string, number>
  /** application hash after the last block */
  readonly root: string
}

/**
 * Runs blocks with random messages, absent validators and double signs, while governance changes the parameters of random modules to
 * random legal values. Then executes the decided blocks on another chain.
 * @throws Error when a block throws, an invariant is broken, or the other chain has other roots
 */
export async function runParameters(seed: number, blocks: number): Promise<ParameterRun> {
  const counts = new Map<string, number>()
  const first = await createChain(seed, counts)
  const decided: DecidedBlock[] = []
  try {
    for (let height = 1; height <= blocks; height++) {
      const next = await decide(first, seed, decided.at(-1))
      try {
        await first.executor.application.finalizeBlock(next)
      } catch (error) {
        throw new Error(`seed ${seed}: block ${height} cannot be executed`, { cause: error })
      }
      decided.push(next)
    }
    const root = await rootOf(first)
    await checkWhole(first, seed)
    const second = await createChain(seed, new Map())
    try {
      for (const each of decided) await second.executor.application.finalizeBlock(each)
      if ((await rootOf(second)) !== root) throw new Error(`seed ${seed}: the same blocks have other roots`)
    } finally {
      await second.close()
    }
    return { blocks, counts, root }
  } finally {
    await first.close()
  }
}

async function rootOf({ executor }: TestChain): Promise<string> {
  return bytesToHex((await executor.application.info()).appHash)
}

/** Invariants of the stored state, supply and powers among them. */
async function checkWhole(chain: TestChain, seed: number): Promise<void> {
  const location = `${chain.location}-copy`
  await copyDatabase(chain.location, location)
  const copy = await Database.open(location)
  try {
    const { problems } = await checkInvariants(openView(copy, createViewCaches()))
    if (problems.length > 0) throw new Error(`seed ${seed}: ${problems.join('; ')}`)
  } finally {
    await copy.close()
  }
}

function createChain(seed: number, counts: Map<string, number>): Promise<TestChain> {
  const operators = PEOPLE.slice(0, VALIDATORS)
  return createTestChain(
    {
      wallet: operators[0]!,
      selfDelegationAcoin: 10_000n * COIN,
      otherValidators: operators.slice(1).map((operator, index) => ({
        operator,
        selfDelegationAcoin: BigInt(index + 1) * 3_000n * COIN,
        consensusPublicKey: sha256(bigIntToBytes(BigInt(index), 8)),
        moniker: `validator ${index + 1}`,
      })),
      fundedAccounts: PEOPLE.slice(1).map((address) => ({ address, balanceAcoin: 1_000_000n * COIN })),
    },
    { hooks: randomHooks(seed, counts) },
  )
}

/** What a block does follows from the seed, its height and the state alone: a block may be executed more than once. */
function randomHooks(seed: number, counts: Map<string, number>): BlockHooks {
  const count = (name: string) => counts.set(name, (counts.get(name) ?? 0) + 1)
  return {
    ...MODULE_HOOKS,
    begin: (world, start) => {
      const random = createRandom(seed, start.height, 1)
      const votes = start.lastCommit.votes.map((vote): CommitVote => ({ ...vote, vote: voteOf(vote, random, seed) }))
      const context = { world, block: start }
      const misbehaviour = misbehaviourOf(context, start, random)
      for (const _ of misbehaviour) count('double sign')
      MODULE_HOOKS.begin(world, { ...start, lastCommit: { ...start.lastCommit, votes }, misbehaviour })
      checkEvents(world.events())
    },
    end: (world, block) => {
      const context = { world, block }
      const random = createRandom(seed, block.height, 2)
      for (let i = 0; i < MESSAGES_PER_BLOCK; i++) {
        const message = randomMessage(context, PEOPLE, random)
        count(`${message.typeUrl} ${run(context, message)}`)
      }
      if (random.below(2) === 0) {
        const update = randomUpdate(world.native, random)
        count(`${update.typeUrl} ${run(context, update)}`)
      }
      const updates = MODULE_HOOKS.end(world, block)
      checkEvents(world.events())
      for (const invariants of INVARIANTS) {
        const problems = [...invariants(context)]
        if (problems.length > 0) throw new Error(`an invariant is broken: ${problems.join('; ')}`)
      }
      return updates
    },
  }
}

/** Begin and end of blocks have an answer for all that these runs make. */
function checkEvents(events: readonly NativeEvent[]): void {
  const found = events.find(({ type }) => type === ITEM_LEFT_ALONE)
  if (found !== undefined) throw new Error(`an item was left alone: ${JSON.stringify(found.attributes)}`)
}

/** A validator is often absent for many blocks. */
function voteOf({ address }: CommitVote, random: Random, seed: number): CommitVote['vote'] {
  const isLazy = createRandom(seed, address[0]!, address[1]!).below(3) === 0
  return random.below(isLazy ? 2 : 30) === 0 ? 'absent' : 'signed'
}

/** Seldom, a validator of the last commit has signed twice some blocks ago. */
function misbehaviourOf({ world }: ModuleContext, start: BlockStart, random: Random): readonly Misbehaviour[] {
  const { votes } = start.lastCommit
  if (votes.length < 2 || random.below(25) > 0) return []
  const { address, power } = random.pick(votes)
  const height = Math.max(start.height - 1 - random.below(30), 1)
  if (isCommitted(world.native, address, height)) return []
  const bytes = Uint8Array.of(1, ...address, ...bigIntToBytes(BigInt(height), 8))
  const totalPower = votes.reduce((sum, vote) => sum + vote.power, 0n)
  return [
    { kind: 'duplicateVote', address, power, totalPower, height, timeMs: start.timeMs, hash: sha256(bytes), bytes },
  ]
}

/** Runs a message as a transaction does, without its fee. @returns what became of it */
function run(context: ModuleContext, message: AnyValue): 'done' | 'refused' | 'out of gas' {
  const { world } = context
  const nested = readNested(message, MESSAGES)
  if (isSdkError(nested) || nested.handler.validate(nested.value) !== undefined) return 'refused'
  world.checkpoint()
  const ran = world.native.work.limited(MESSAGE_GAS, () => nested.handler.run(context, nested.value))
  const isDone = ran.kind === 'done' && !isSdkError(ran.value)
  if (isDone) world.commit()
  else world.revert()
  return isDone ? 'done' : ran.kind === 'done' ? 'refused' : 'out of gas'
}

/** The next block, which all validators of its height have decided; its time is sometimes much later. */
async function decide(
  { chain, executor }: TestChain,
  seed: number,
  last: DecidedBlock | undefined,
): Promise<DecidedBlock> {
  const info = await executor.application.info()
  const height = info.height + 1
  const random = createRandom(seed, height, 3)
  const waitMs = random.below(6) === 0 ? random.pick([1_000, 4_000, 100_000, 86_400_000]) : 0
  const timeMs = (last?.block.header.timeMs ?? GENESIS_TIME_MS) + chain.blockIntervalMs + waitMs
  const lastCommit = info.lastSeenCommit ?? EMPTY_COMMIT
  const header = {
    version: { block: BLOCK_PROTOCOL, app: 0 },
    chainId: chain.chainId,
    height,
    timeMs,
    lastBlockId: info.lastBlockId ?? NIL_BLOCK_ID,
    lastCommitHash: commitHash(lastCommit),
    dataHash: dataHash([]),
    validatorsHash: validatorSetHash(info.validators),
    nextValidatorsHash: validatorSetHash(info.nextValidators),
    consensusHash: sha256(new Uint8Array()),
    appHash: info.appHash,
    lastResultsHash: info.lastResultsHash,
    evidenceHash: evidenceHash([]),
    proposerAddress: info.validators.validators[0]!.address,
  }
  const block = { header, txs: [], evidence: [], lastCommit }
  const blockId = { hash: headerHash(header), partSetHeader: createPartSet(encodeBlock(block)).header }
  const signatures = info.validators.validators.map(({ address }) => ({
    flag: BLOCK_ID_FLAGS.commit,
    validatorAddress: address,
    timestampMs: timeMs,
    signature: new Uint8Array(64).fill(1),
  }))
  return { block, blockId, seenCommit: { height, round: 0, blockId, signatures } }
}

import { expect, it } from 'vitest'
import {
  ABSENT_COMMIT_SIG,
  BLOCK_ID_FLAGS,
  type CommitSig,
  NIL_BLOCK_ID,
} from '../../../../../src/chain/comet/types.ts'
import { createValidatorSet } from '../../../../../src/chain/comet/validatorSet.ts'
import type { SigningState } from '../../../../../src/modules/slashing/signingState.ts'
import { createOwnSigning } from '../../../../../src/node/roles/main/ownSigning.ts'
import { createValidatorMetrics } from '../../../../../src/telemetry/metrics.ts'
import { createThreadMetrics, formatMetrics } from '../../../../../src/telemetry/threadMetrics.ts'

const key = (number: number) => new Uint8Array(32).fill(number)
const OTHERS = createValidatorSet([{ publicKey: key(1), power: 10n }])
const [OTHER] = OTHERS.validators
const WITH_US = createValidatorSet([
  { publicKey: key(1), power: 10n },
  { publicKey: key(2), power: 7n },
])
const OURS = WITH_US.validators.find(({ power }) => power === 7n)!.address
const NEXT_KEY = new Uint8Array(20).fill(9)

const signed = (validatorAddress: Uint8Array, flag: CommitSig['flag'] = BLOCK_ID_FLAGS.commit): CommitSig => ({
  flag,
  validatorAddress,
  timestampMs: 0,
  signature: new Uint8Array(64),
})
const commitOf = (height: number, signatures: readonly CommitSig[]) => ({
  lastCommit: { height, round: 0, blockId: NIL_BLOCK_ID, signatures },
})

function watch(readState: () => Promise<SigningState> = () => Promise.reject(new Error('no state'))) {
  const { registry, snapshot } = createThreadMetrics('main')
  const metrics = createValidatorMetrics(registry)
  const asked: (readonly Uint8Array[])[] = []
  const errors: unknown[] = []
  const signing = createOwnSigning({
    addresses: [OURS, NEXT_KEY],
    metrics,
    readState: (addresses) => {
      asked.push(addresses)
      return readState()
    },
    onError: (error) => errors.push(error),
  })
  /** the values by the end of the metric's name */
  const values = async () =>
    Object.fromEntries(
      [...(await formatMetrics([await snapshot()])).matchAll(/^coind_validator_(\w+) (\d+)$/gm)].map((found) => [
        found[1],
        Number(found[2]),
      ]),
    )
  return { signing, values, asked, errors }
}

it('counts the blocks that its validator was to sign and has not', async () => {
  const { signing, values } = watch()
  expect(await values()).toMatchObject({ known: 0, active: 0, power: 0, missed_total: 0, signed_height: 0 })
  signing.begin({ lastHeight: 5, lastValidators: OTHERS, validators: WITH_US })
  expect(await values()).toMatchObject({ active: 1, power: 7 })

  const decide = (height: number, signatures: readonly CommitSig[], lastValidators = WITH_US, validators = WITH_US) =>
    signing.decided(commitOf(height - 1, signatures), { lastHeight: height, lastValidators, validators })
  // Block 5 was not its to sign.
  decide(6, [signed(OTHER!.address)])
  expect(await values()).toMatchObject({ missed_total: 0, signed_height: 0 })
  decide(7, [signed(OTHER!.address), ABSENT_COMMIT_SIG])
  expect(await values()).toMatchObject({ missed_total: 1, signed_height: 0 })
  decide(8, [signed(OTHER!.address), signed(OURS)])
  expect(await values()).toMatchObject({ missed_total: 1, signed_height: 7 })
  // Slashing counts a vote for nil as a signature.
  decide(9, [signed(OTHER!.address), signed(OURS, BLOCK_ID_FLAGS.nil)])
  expect(await values()).toMatchObject({ missed_total: 1, signed_height: 8 })
  // Its key is in the set no more, but was when block 9 was decided.
  decide(10, [signed(OTHER!.address), ABSENT_COMMIT_SIG], OTHERS, OTHERS)
  expect(await values()).toMatchObject({ missed_total: 2, active: 0, power: 0 })
  decide(11, [signed(OTHER!.address)], OTHERS, OTHERS)
  expect(await values()).toMatchObject({ missed_total: 2, signed_height: 8 })
})

it('shows what the state says, and keeps that where it cannot be read', async () => {
  let state: Promise<SigningState> = Promise.resolve({
    isKnown: true,
    isJailed: true,
    isTombstoned: false,
    missed: 31,
    window: 100,
    missedLimit: 50,
    position: 42,
  })
  const { signing, values, asked, errors } = watch(() => state)
  await signing.refresh()
  const shown = {
    known: 1,
    jailed: 1,
    tombstoned: 0,
    missed_blocks: 31,
    window_blocks: 100,
    missed_limit_blocks: 50,
    window_position_blocks: 42,
  }
  expect(await values()).toMatchObject(shown)
  state = Promise.reject(new Error('the thread has ended'))
  await signing.refresh()
  expect(await values()).toMatchObject(shown)
  expect(errors).toEqual([new Error('the thread has ended')])
  expect(asked).toEqual([
    [OURS, NEXT_KEY],
    [OURS, NEXT_KEY],
  ])
})

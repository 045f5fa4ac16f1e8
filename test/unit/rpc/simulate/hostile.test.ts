import { afterAll, beforeAll, expect, test } from 'vitest'
import { simulateV1 } from '../../../../src/rpc/simulate/simulateV1.ts'
import { createViewCaches, type NodeView, openView } from '../../../../src/state/view.ts'
import { Database } from '../../../../src/storage/database.ts'
import { createTestChain, type TestChain } from '../../../support/execution/testChain.ts'
import { createContractNode, hexOf, word } from '../../../support/rpc/contractNode.ts'
import { invokeError } from '../../../support/rpc/invoke.ts'
import { type MemoryNode, TEST_LIMITS } from '../../../support/rpc/memoryNode.ts'

/* What a client may send to cost much, on the state of a real database: the roots of simulated blocks are computed from it. */

let node: MemoryNode
let chain: TestChain
let database: Database
let view: NodeView

beforeAll(async () => {
  node = await createContractNode()
  chain = await createTestChain()
  database = await Database.open(chain.location, { readOnly: true })
  view = openView(database.snapshot(), createViewCaches())
})

afterAll(async () => {
  await database.close()
  await chain.close()
})

const target = hexOf('d1')
const LOOP = '0x5b5f56'
/** Writes to one slot after another: the gas that is left is the slot. */
const WRITER = '0x5b5a5a555f56'
/** Returns a megabyte of zeros. */
const RETURNER = '0x620f42405ff3'
/** The most gas that a transaction may have. */
const MOST_GAS = '0x1000000'
const BLOCKS = 256

const blocks = (make: (index: number) => object): { readonly blockStateCalls: object[] } => ({
  blockStateCalls: Array.from({ length: BLOCKS }, (_, index) => make(index)),
})
const slots = (count: number, first: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`0x${word(first + index)}`, `0x${word(1)}`]))
/** A block of full gas whose calls run `code`. */
const fullBlock = (code: string): object => ({
  stateOverrides: { [target]: { code } },
  blockOverrides: { gasLimit: '0xffffffffffff' },
  calls: Array.from({ length: 3 }, () => ({ to: target, gas: MOST_GAS })),
})

const NO_GAS_LIMIT = { ...TEST_LIMITS, callGas: 10n ** 15n }
const SHORT = { ...NO_GAS_LIMIT, callTimeoutMs: 200 }
const TIMEOUT = { code: -32000, message: 'execution aborted (timeout = 0.2s)' }

/** Much more than the time allows on any machine, what comes for it, and what limits it. */
const cases: readonly (readonly [
  what: string,
  options: () => object,
  limits: typeof TEST_LIMITS,
  expected: unknown,
])[] = [
  ['256 blocks of endless loops', () => blocks(() => fullBlock(LOOP)), SHORT, TIMEOUT],
  ['256 blocks that write full blocks of storage', () => blocks(() => fullBlock(WRITER)), SHORT, TIMEOUT],
  [
    'the gas of one request for 256 blocks',
    () => blocks(() => ({ ...fullBlock(LOOP), calls: [{ to: target }] })),
    TEST_LIMITS,
    { code: -38013, message: 'err: intrinsic gas too low: have 0, want 21000 (supplied gas 0)' },
  ],
  [
    'megabytes of overrides in one block, and 255 after it',
    () => ({
      blockStateCalls: [
        { stateOverrides: { [target]: { stateDiff: slots(35_000, 0) } } },
        { blockOverrides: { number: '0x100' } },
      ],
    }),
    SHORT,
    TIMEOUT,
  ],
  [
    'megabytes of overrides in 256 blocks',
    () => blocks((index) => ({ stateOverrides: { [target]: { stateDiff: slots(136, 136 * index) } } })),
    SHORT,
    TIMEOUT,
  ],
  [
    'megabytes of answers',
    () =>
      blocks(() => ({ stateOverrides: { [target]: { code: RETURNER } }, calls: [{ to: target, gas: '0x2fa5e0' }] })),
    NO_GAS_LIMIT,
    { code: -32003, message: 'response too large' },
  ],
  [
    'more calls than a block may have',
    () => ({ blockStateCalls: [{ calls: Array.from({ length: 50_000 }, () => ({ to: target })) }] }),
    NO_GAS_LIMIT,
    { code: -38026, message: 'too many calls in block' },
  ],
  [
    'megabytes of input, validated',
    () => ({
      validation: true,
      returnFullTransactions: true,
      blockStateCalls: [{ calls: [{ to: target, input: `0x${'ff'.repeat(2_400_000)}`, maxFeePerGas: '0x77359400' }] }],
    }),
    NO_GAS_LIMIT,
    { code: -38014, message: expect.stringContaining('insufficient funds') },
  ],
  [
    'thousands of authorizations, validated',
    () => {
      const signature = { yParity: '0x0', r: `0x${'12'.repeat(32)}`, s: `0x${'12'.repeat(31)}` }
      const authorization = { chainId: '0x0', address: target, nonce: '0x0', ...signature }
      const authorizationList = Array.from({ length: 14_000 }, () => authorization)
      return { validation: true, blockStateCalls: [{ calls: [{ to: target, authorizationList }] }] }
    },
    NO_GAS_LIMIT,
    { code: -38012, message: expect.stringContaining('max fee per gas less than block base fee') },
  ],
]

test.each(cases)('%s', async (_, options, limits, expected) => {
  expect(await invokeError(simulateV1, node.context({ limits, view }), options())).toEqual(expected)
})

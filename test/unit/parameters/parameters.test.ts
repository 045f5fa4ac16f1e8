import { expect, it } from 'vitest'
import { runParameters } from '../../parameters/runParameters.ts'
import { runs } from '../../propertyRuns.ts'

const BLOCKS = 40

it.each(Array.from({ length: runs(1) }, (_, index) => index + 1))(
  'blocks, invariants and a second execution withstand random legal parameters (seed %i)',
  async (seed) => {
    const { blocks, counts } = await runParameters(seed, BLOCKS)
    expect(blocks).toBe(BLOCKS)
    const done = [...counts].filter(([name]) => /MsgUpdateParams done$/.test(name))
    expect(done.length).toBeGreaterThan(4)
  },
  120_000,
)

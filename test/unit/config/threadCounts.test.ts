import { expect, it } from 'vitest'
import { defaultThreadCounts } from '../../../src/config/threadCounts.ts'

it.each([
  [1, 1, 2],
  [2, 1, 2],
  [4, 1, 2],
  [8, 2, 3],
  [16, 4, 6],
  [128, 4, 6],
])(
  'a machine of %i processors gets %i socket threads and %i view threads',
  (processors, socketThreads, viewThreads) => {
    expect(defaultThreadCounts(processors, true)).toEqual({ socketThreads, viewThreads })
    expect(defaultThreadCounts(processors, false)).toEqual({ socketThreads: 1, viewThreads })
  },
)

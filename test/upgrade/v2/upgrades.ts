import { defineParams } from '../../../src/modules/params.ts'
import type { Upgrade } from '../../../src/modules/upgrade/upgrades.ts'
import { round } from '../../../src/primitives/decimal.ts'
import { decimalBytes, defineMessage, duration, int64 } from '../../../src/primitives/protoSchema.ts'
import { SLASHING_PARAMS } from './slashingParams.ts'

/** The shape up to version 4 of the module. */
const FORMER_PARAMS = defineParams(
  'slashing',
  Uint8Array.of(0x00),
  defineMessage('cosmos.slashing.v1beta1.Params', {
    signedBlocksWindow: int64(1),
    minSignedPerWindow: decimalBytes(2),
    downtimeJailDuration: duration(3),
    slashFractionDoubleSign: decimalBytes(4),
    slashFractionDowntime: decimalBytes(5),
  }),
)

/** In the place of src/modules/upgrade/upgrades.ts: a version whose slashing module has parameters of another shape. */
export const UPGRADES: readonly Upgrade[] = [
  {
    name: 'v2',
    migrations: [
      {
        module: 'slashing',
        from: 4,
        migrate: ({ world }) => {
          const former = FORMER_PARAMS.get(world.native)
          const { signedBlocksWindow, minSignedPerWindow } = former
          const maxMissedBlocks = signedBlocksWindow - round(minSignedPerWindow * signedBlocksWindow)
          SLASHING_PARAMS.set(world.native, { ...former, maxMissedBlocks })
        },
      },
    ],
  },
]

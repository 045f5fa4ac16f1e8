import type { Random } from '../../fuzz/random.ts'
import type { Byzantine } from './byzantine.ts'
import { flooder, liar, replayer, wrongChain } from './floods.ts'
import { BLOCK_FAULTS, type BlockFault, invalidProposer, twoFacedProposer, withholder } from './proposers.ts'
import { amnesiac, contrarian, equivocatingVoter, silent, slow } from './voters.ts'

/** Another of these strategies at every height. */
function mixed(strategies: readonly Byzantine[]): Byzantine {
  return {
    name: `mixed(${strategies.map(({ name }) => name).join(',')})`,
    send(node, to, message) {
      const strategy = strategies[node.engine!.roundState.height % strategies.length]!
      if (strategy.send === undefined) node.transmit(to, message)
      else strategy.send(node, to, message)
    },
    onReceive(node, from, message) {
      for (const strategy of strategies) strategy.onReceive?.(node, from, message)
    },
    onStart(node) {
      for (const strategy of strategies) strategy.onStart?.(node)
    },
    claims(height) {
      for (const strategy of strategies) if (strategy.claims !== undefined) return strategy.claims(height)
      return height
    },
    serve(node, from, height) {
      for (const strategy of strategies) {
        const served = strategy.serve?.(node, from, height)
        if (served !== undefined) return served
      }
      return undefined
    },
  }
}

const FAULTS = [...(Object.keys(BLOCK_FAULTS) as BlockFault[]), 'oversize', 'garbage', 'falsePol'] as const

const MAKERS: readonly (() => Byzantine)[] = [
  () => silent(),
  () => silent(3),
  () => slow(1500),
  () => equivocatingVoter(),
  () => equivocatingVoter([1]),
  () => equivocatingVoter([2]),
  () => amnesiac(),
  () => contrarian(),
  () => twoFacedProposer(false),
  () => twoFacedProposer(true),
  () => withholder(300),
  () => withholder(0),
  () => invalidProposer((node) => node.random.pick(FAULTS)),
  () => flooder({ rate: 100 }),
  () => wrongChain(),
  () => replayer(),
  () => liar(),
]

/** A strategy or a mixture of some. */
export function randomByzantine(random: Random): Byzantine {
  if (random.oneIn(2)) return random.pick(MAKERS)()
  return mixed(Array.from({ length: random.between(2, 4) }, () => random.pick(MAKERS)()))
}

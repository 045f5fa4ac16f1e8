import type { ConsensusMessage } from '../../src/consensus/messages.ts'
import { equalBytes } from '../../src/primitives/bytes.ts'
import { describeVote } from './monitor.ts'
import type { SimProcess } from './simProcess.ts'

/** A signed message may leave a node only when it is on stable storage, and never contradicts one that left it before. */
export function checkSent(process: SimProcess, message: ConsensusMessage): void {
  const { node, log } = process
  const { simulation, key, index, application } = node
  const { monitor } = simulation
  // Twins sign against each other, and relay each other's messages.
  if (key === undefined || simulation.isTwin(index)) return
  if (message.kind === 'vote') {
    const { vote } = message
    const { height, round, type, signature } = vote
    const validators = application.validatorsAt(height)
    if (validators === undefined || !equalBytes(vote.validatorAddress, key.address)) return
    // A message that was sent once comes from its own log or from the last commit that the application keeps.
    const known = monitor.emittedVote(key.address, height, round, type)
    const isOld = known !== undefined && equalBytes(known.signature, signature)
    if (!isOld && !log.isDurable(height, signature)) monitor.report('sent before it was durable', describeVote(vote))
    monitor.voteEmitted(vote, validators)
  } else if (message.kind === 'proposal') {
    const { proposal } = message
    const { height, round, signature } = proposal
    const validators = application.validatorsAt(height)
    if (validators === undefined || !equalBytes(simulation.proposerOf(validators, round).address, key.address)) return
    if (!log.isDurable(height, signature)) {
      monitor.report('sent before it was durable', `proposal ${height}/${round} of node ${index}`)
    }
    monitor.proposalEmitted(proposal, key.address, validators)
  }
}

/**
 * The chain goes on with another version of the software from this height on. Thrown when the block at the height is about
 * to run; nothing of it has been written.
 */
export class UpgradeNeeded extends Error {
  override readonly name = 'UpgradeNeeded'
  /** the plan's name, which the new version knows */
  readonly plan: string
  /** the first block of the new version */
  readonly height: number
  /** what the proposal says of it, e.g. where to download */
  readonly info: string

  constructor(plan: string, height: number, info: string) {
    const hint = info === '' ? '' : ` (${info})`
    super(
      `upgrade "${plan}" is needed at height ${height}: this version cannot execute block ${height}. ` +
        `Stop the node, install the version that knows "${plan}"${hint}, and start it again with the same data.`,
    )
    this.plan = plan
    this.height = height
    this.info = info
  }
}

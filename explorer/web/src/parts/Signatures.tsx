/** Which of the newest blocks a validator signed: one bar per block, the newest at the right. See `recentBlocks` of the API. */
export function Signatures({ letters, isWide = false }: { readonly letters: string; readonly isWide?: boolean }) {
  const bars = [...letters]
  const count = (letter: string): number => bars.filter((own) => own === letter).length
  const [signed, absent, nil] = [count('s'), count('a'), count('n')]
  const title =
    signed + absent + nil === 0
      ? `not in the validator set of the last ${bars.length} blocks`
      : `signed ${signed} of the last ${signed + absent + nil} blocks${nil === 0 ? '' : `, voted nil at ${nil}`}`
  return (
    <svg
      className={isWide ? 'signatures wide' : 'signatures'}
      viewBox={`0 0 ${Math.max(bars.length, 1)} 10`}
      preserveAspectRatio="none"
      role="img"
      aria-label={title}
    >
      <title>{title}</title>
      {Object.entries(BARS).map(([letter, name]) => (
        <path key={letter} className={name} d={barsOf(bars, letter)} />
      ))}
    </svg>
  )
}

const BARS = { s: 'signed', a: 'absent', n: 'nil', '-': 'out' } as const

/** Bars of all blocks with this letter, as one path: a page of validators has ten thousand of them. */
function barsOf(letters: readonly string[], letter: string): string {
  const height = letter === 's' ? 10 : 7
  return letters.map((own, x) => (own === letter ? `M${x} 10v-${height}h.8v${height}z` : '')).join('')
}

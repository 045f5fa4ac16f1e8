const QUOTES = ["'", '"', '`']

/**
 * Lines of a `.env` file, which Docker's --env-file reads too. That takes quotes literally, so only odd values have them.
 * @throws TypeError for a value that holds every kind of quote, or a line break
 */
export function formatVariables(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `${name}=${quoted(value)}\n`)
    .join('')
}

function quoted(value: string): string {
  if (/^[\w./:@,+-]*$/.test(value)) return value
  const quote = QUOTES.find((candidate) => !value.includes(candidate))
  if (quote === undefined || /[\r\n]/.test(value))
    throw new TypeError(`no line of .env can hold ${JSON.stringify(value)}`)
  return quote + value + quote
}

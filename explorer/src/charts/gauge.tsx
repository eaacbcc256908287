/** How much of a pool is taken, from 0 to 1, as a bar. */
export const Gauge = ({ share, label }: { readonly share: number; readonly label: string }) => {
  const percent = Math.min(100, Math.max(0, share * 100))
  return (
    // biome-ignore lint/a11y/useSemanticElements: browsers do not let a style set the colours of a meter
    <span
      class="gauge"
      role="meter"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(percent)}
      aria-label={label}
    >
      <span style={{ width: `${percent}%` }} class={percent > 95 ? 'full' : ''} />
    </span>
  )
}

import { useLayoutEffect, useRef } from 'preact/hooks';

/** A field for one tag. @param onDone called when one is entered or it is left */
export function TagField({
  label,
  onAdd,
  onDone,
}: {
  label: string;
  onAdd: (tag: string) => void;
  onDone: () => void;
}) {
  const input = useRef<HTMLInputElement>(null);
  // Before the next key: an effect comes after the next frame.
  useLayoutEffect(() => input.current?.focus(), []);
  return (
    <input
      ref={input}
      class="tag-field"
      aria-label={label}
      placeholder="Tag"
      maxLength={100}
      onBlur={onDone}
      onKeyDown={({ key, currentTarget }) => {
        const tag = currentTarget.value.trim();
        if (key === 'Enter' && tag) onAdd(tag);
        if (key === 'Enter' || key === 'Escape') onDone();
      }}
    />
  );
}

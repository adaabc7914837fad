"""scikit-learn's callbacks, if the installed version has them (1.9 and later); otherwise without effect."""

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:

    class _NoContext:
        """Stands in for a CallbackContext: no callbacks, no stop."""

        def subcontext(self, **settings: object) -> "_NoContext":
            return self

        def call_on_fit_task_begin(self, **state: object) -> "_NoContext":
            return self

        def call_on_fit_task_end(self, **state: object) -> bool:
            return False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """The part of scikit-learn's mixin that fitting calls."""

        def _init_callback_context(self, **settings: object) -> _NoContext:
            return _NoContext()


__all__ = ["CallbackSupportMixin"]
